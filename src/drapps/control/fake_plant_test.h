// For the tests of this folder: a plant whose counters follow a clock that the test turns, or the steady clock.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <stdexcept>

#include "drapps/base/clock.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/initial.h"

namespace drapps {

class FakePlant : public Plant {
 public:
  explicit FakePlant(bool live = false) : live_(live) {
    limits_.weighted = 0b0110;
    seen_.settings = initial_settings(limits_);
    seen_.time_ns = live ? monotonic_ns() : 1'000'000'000;
  }

  /// `steps` steps of `ms` each.
  void run(int steps, double ms) {
    const std::lock_guard lock(mutex_);
    run_locked(steps, ms);
  }
  void change(const std::function<void(Observation&)>& how) {
    const std::lock_guard lock(mutex_);
    how(seen_);
  }
  /// A clock that shows `late_ns` more than the plant's.
  std::function<std::uint64_t()> clock(std::uint64_t late_ns = 0) const {
    return [this, late_ns] {
      const std::lock_guard lock(mutex_);
      return seen_.time_ns + late_ns;
    };
  }
  Settings settings() const override {
    const std::lock_guard lock(mutex_);
    return seen_.settings;
  }

  Limits limits() const override {
    const std::lock_guard lock(mutex_);
    return limits_;
  }
  void limit_workers(std::int32_t most) {
    const std::lock_guard lock(mutex_);
    limits_[KnobId::kWorkers].high = most;
  }
  void limit_cores(double cpus) {
    const std::lock_guard lock(mutex_);
    limits_.cpus = cpus;
  }
  PlantCounters counters() const override {
    ++observed;
    if (gate) gate();
    const std::lock_guard lock(mutex_);
    if (live_) {
      run_locked(4, 1);
      seen_.time_ns = monotonic_ns();
    }
    PlantCounters now{.time_ns = seen_.time_ns, .batches = seen_.batches, .samples = seen_.samples};
    now.stall_ns = seen_.consumer.stall.sum;
    now.cpu_ns = seen_.processes.demand_ns;
    for (const LaneObservation& lane : seen_.lanes) now.cpu_ns += lane.service_cpu.sum;
    now.finished = seen_.finished;
    return now;
  }
  Observation observe() override {
    if (observe_throws) throw std::runtime_error("the plant shows nothing");
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  void apply(const Settings& settings) override {
    if (apply_throws) throw std::runtime_error("the plant refused");
    const std::lock_guard lock(mutex_);
    seen_.settings = settings;
    ++applied;
  }

  mutable std::atomic<int> observed = 0;  // times that its progress was looked at
  std::atomic<int> applied = 0;
  std::atomic<bool> apply_throws = false;
  std::atomic<bool> observe_throws = false;
  std::function<void()> gate;  // set before the plant is under control

 private:
  void run_locked(int steps, double ms) const {
    const auto ns = static_cast<std::uint64_t>(ms * 1e6);
    for (int i = 0; i < steps; ++i) {
      Spread& step = seen_.consumer.step;
      ++step.count;
      step.sum += ns;
      step.p50 = step.p90 = step.p99 = step.most = Histogram::upper_edge(Histogram::bucket_of(ns));
      ++seen_.batches;
      seen_.time_ns += ns;
    }
  }

  const bool live_;
  Limits limits_ = native_limits(8, 16, 8, true);
  mutable std::mutex mutex_;  // guards seen_
  mutable Observation seen_;
};

}  // namespace drapps
