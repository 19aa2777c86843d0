// Machines to learn on: drawn at random, through something that happens to them, with what would have been possible.
//
// A course of episodes is a function of its options alone; training and validation have seeds of their own.
//
// Source of ranges and events: the control plane's design; J. Tobin et al., "Domain randomization for transferring deep
// neural networks from simulation to the real world", IROS 2017.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/plant/plant.h"
#include "drapps/sim/scenario.h"

namespace drapps::training {

struct Episode {
  sim::Scenario scenario;       // of one segment, or of two where something happens
  Settings initial;             // what a loader begins with
  std::vector<Settings> best;   // the best found of each segment, held
  std::vector<double> rates{};  // samples/s with these
};

struct EpisodeOptions {
  std::size_t count = 512;
  std::uint64_t seed = 1;
  double seconds = 90;
  double happens = 0.75;  // share of the episodes in which something does
  // Accelerators so many times slower at samples, and reads so many times later, than where policies are trained.
  double slower_gpu = 1, later_reads = 1;
};

std::vector<Episode> make_episodes(const EpisodeOptions& options, std::span<const KnobId> knobs);

/// Samples/s of a plant that never changes, with settings that stay, once it has found its pace.
double held_rate(const sim::World& world, const Settings& settings);

/// Settings that no change of one of the knobs makes faster, and that use less where it makes no difference.
Settings search_settings(const sim::World& world, const Settings& begin, std::span<const KnobId> knobs);

}  // namespace drapps::training
