// Machines to learn on: drawn at random, through something that happens to them, with what would have been possible.
//
// A course of episodes is a function of its options alone; training and validation have seeds of their own.
//
// Source of ranges and events: the control plane's design; J. Tobin et al., "Domain randomization for transferring deep
// neural networks from simulation to the real world", IROS 2017.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "drapps/plant/plant.h"
#include "drapps/sim/scenario.h"

namespace drapps::training {

struct Episode {
  sim::Scenario scenario;       // of one segment, or of two where something happens
  Settings initial;             // what a loader begins with
  std::vector<Settings> best;   // the best settings found for each segment, held
  std::vector<double> rates{};  // samples/s of each segment with its best settings
  std::vector<double> held{};   // samples/s of each segment with the first one's best settings
};

struct EpisodeOptions {
  std::size_t count = 512;
  std::uint64_t seed = 1;
  double seconds = 90;
  double happens = 0.75;  // share of the episodes in which something happens
  bool processes = true;  // also loaders of Python code
  // Accelerators so many times slower at samples, and reads so many times later, than where policies are trained.
  double slower_gpu = 1, later_reads = 1;
  std::optional<sim::World> world{};  // that was fitted to recorded runs
  double like = 0.5;                  // where `world` is given, the share of the episodes that are like it
  double spread = 0.1;                // standard deviation of the logarithms of such an episode's numbers
};

/// Episodes, and which of them were the hardest at several points of a training: there the policy was furthest behind
/// what is simple.
struct Course {
  std::vector<Episode> episodes;
  std::vector<std::vector<std::uint32_t>> hardest{};  // places in episodes
};

std::vector<Episode> make_episodes(const EpisodeOptions& options, std::span<const KnobId> knobs);

/// Samples/s of a plant that never changes, with settings that stay, once it has found its pace.
double held_rate(const sim::World& world, const Settings& settings);

/// Settings that no change of one of the knobs makes faster, and that use less where it makes no difference.
Settings search_settings(const sim::World& world, const Settings& begin, std::span<const KnobId> knobs);

}  // namespace drapps::training
