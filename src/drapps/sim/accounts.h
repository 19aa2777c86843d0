// What a simulated plant has counted, as an Observation of a live one would say it.
#pragma once

#include <array>
#include <cstdint>

#include "drapps/plant/plant.h"
#include "drapps/sim/rates.h"
#include "drapps/sim/scenario.h"

namespace drapps::sim {

/// The time of observations after so many seconds; that of the first is not 0.
std::uint64_t time_ns_of(double seconds) noexcept;

/// Sums since the plant was made; they only ever rise.
struct Totals {
  double seconds = 0;
  double samples = 0;   // that the consumer took
  double output = 0;    // samples that were made
  double steps = 0;     // s of training, waits included: what is no pause
  double stall = 0;     // s that the consumer waited
  double gpu_idle = 0;  // s in which its accelerator did nothing
  double core = 0;      // s of cores that the loader used
  double joules = 0;
  double cost = 0;    // of remote machines
  double memory = 0;  // bytes, the most at once
};

/// A stretch of time in which nothing changes.
struct SteadyStretch {
  double seconds = 0;
  double output = 0;  // samples
  double taken = 0;   // samples
  double stall = 0;   // s
  double ready = 0;   // batches, at its end
  double makers = 0;
  double starting = 0;  // processes that have made nothing yet
  double remote = 0;
  double kept = 0;      // bytes in the loader's cache
  bool paused = false;  // the consumer makes a pause
  bool full = false;    // the window is full
};

class Accounts {
 public:
  void add(const World& world, const Settings& settings, const Rates& rates, const SteadyStretch& stretch) noexcept;

  const Totals& totals() const noexcept { return totals_; }
  PlantCounters counters(std::uint64_t time_ns, const World& world) const noexcept;
  /// Spreads are those since the call before; all quantiles of one are its mean.
  Observation observe(std::uint64_t time_ns, const World& world, const Settings& settings) noexcept;

 private:
  struct Sum {
    double count = 0;
    double seconds = 0;
  };
  struct Seen {
    std::array<Sum, kLanes.size()> wall{}, cpu{};
    Sum step, stall, read;
  };

  void add_lane(std::size_t lane, double count, double cpu, double wall) noexcept;

  Totals totals_;
  Seen now_, before_;
  LaneSet lanes_;  // in use in the last stretch
  double bytes_ = 0, refused_ = 0, in_flight_ = 0;
  double copies_ = 0, kernels_ = 0;  // s of the accelerators, for samples
  double worker_wall_ = 0, idle_ = 0, window_ = 0, storage_ = 0;
  double idle_cores_ = 0, training_core_ = 0, other_cores_ = 0, read_busy_ = 0, waiting_ = 0;
  Totals looked_;  // totals_ at the observation before
  double looked_other_ = 0, looked_busy_ = 0, looked_waiting_ = 0;
  SteadyStretch last_;
};

}  // namespace drapps::sim
