// What one sample costs under given settings, and how fast threads run that share cores: what both plants are made of.
#pragma once

#include <array>

#include "drapps/base/knob.h"
#include "drapps/sim/world.h"

namespace drapps::sim {

/// What of a plant changes while it runs, as far as costs and rates depend on it.
struct Condition {
  double makers = 1;     // threads or processes that make samples here
  double starting = 0;   // processes that compute and make none yet
  double remote = 0;     // machines that make samples, too
  double cached = 0;     // share of the samples that the loader's cache gives
  double resident = 0;   // share of the others that the page cache gives
  bool filling = false;  // what the cache does not give is put into it
  double work = 1;       // factor of the moment, around 1, of CPU time
  double storage = 1;    // factor of the moment, around 1, of the storage's times
  double step = 1;       // factor of the moment, around 1, of the training step

  bool operator==(const Condition&) const = default;
};

/// The cost of a sample, in the mean over all samples.
struct SampleCost {
  std::array<double, kStages.size()> cpu{};  // s of a core, by stage
  double cpu_sum = 0;
  double sleep = 0;     // s
  double gpu = 0;       // s of the accelerator
  double copied = 0;    // bytes to the accelerator, and back
  double read = 0;      // share that is read from storage
  double variance = 0;  // of cpu_sum + sleep, s²
};
SampleCost cost_of(const World& world, const Settings& settings, const Condition& condition) noexcept;

/// How fast each of so many threads of the loader and its training runs beside the foreign ones, 1 where it has a core
/// to itself. Threads share cores evenly, or evenly with the loader as a whole where cores are shared by groups, such
/// as sessions and containers; and they lose some for each one too many.
double speed_of(const CoreModel& cores, double runnable) noexcept;

/// Batches that may be under way or wait: as the knob says, or as many as keep worker processes at work.
double window_of(const World& world, const Settings& settings) noexcept;
/// Reads that may be in flight at once, where this share of the samples is read.
double reads_in_flight(const World& world, const Settings& settings, double read) noexcept;
/// Bytes/s of the storage for this rank while so many reads are in flight; 0: there is no limit.
double bandwidth_of(const World& world, double in_flight) noexcept;

/// The expected maximum of so many standard normal deviates, within 5 % up to 64.
double expected_maximum(double count) noexcept;
/// The expected longest of so many times, as a multiple of their mean: gamma distributed, by the first terms of Cornish
/// and Fisher's expansion.
double longest_of(double count, double cv) noexcept;

/// s of a training step that waits for no data, where this share of the host's cores is busy and threads run at this
/// speed. 0 where there is no step.
double step_of(const World& world, const Condition& condition, double busy_share, double speed) noexcept;

}  // namespace drapps::sim
