// What simulated plants have in common: a course of worlds, knobs, and what was counted.
#pragma once

#include <utility>

#include "drapps/plant/knob_range.h"
#include "drapps/sim/accounts.h"
#include "drapps/sim/course.h"

namespace drapps::sim {

/// Not thread-safe. It has no clock: time passes where the plant says so.
class SimulatedPlant : public Plant {
 public:
  double time() const noexcept { return time_; }
  const World& world() const noexcept { return course_.world(); }
  const Totals& totals() const noexcept { return accounts_.totals(); }

  Limits limits() const override { return limits_; }
  PlantCounters counters() const override { return accounts_.counters(time_ns_of(time_), world()); }
  Settings settings() const override { return settings_; }
  Observation observe() override { return accounts_.observe(time_ns_of(time_), world(), settings_); }

 protected:
  /// Begins with these settings, brought within the limits.
  SimulatedPlant(Scenario scenario, const Settings& settings)
      : course_(std::move(scenario)), limits_(limits_of(world())), settings_(fit_settings(settings, limits_)) {}

  /// The knob that says how many make samples.
  KnobId maker_knob() const noexcept { return world().in_processes() ? KnobId::kProcesses : KnobId::kWorkers; }

  ScenarioCourse course_;
  Limits limits_;
  Settings settings_;
  Accounts accounts_;
  double time_ = 0;     // s
  double trained_ = 0;  // s since the last pause
};

}  // namespace drapps::sim
