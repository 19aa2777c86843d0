// Policies that only tests have: one that moves every knob at random, to show that tuning never changes the data, and
// one that fails, to show that a loader goes on without its control plane.
#pragma once

#include <stdexcept>

#include "drapps/base/philox.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/registry.h"

namespace drapps {

/// Draws every knob from the whole of its range, and weights that fit. Repeatable: the n-th proposal depends on the
/// seed and n alone. With `raw`, nothing slows it down: every knob jumps at every decision, within the budgets.
class RandomWalk final : public Policy {
 public:
  explicit RandomWalk(std::uint64_t seed, bool raw = false) noexcept : seed_(seed), raw_(raw) {}
  std::string_view name() const noexcept override { return raw_ ? "random_raw" : "random"; }
  bool guarded() const noexcept override { return !raw_; }
  bool knows(const PolicyState&) const noexcept override { return true; }

  Settings decide(const Observation&, PolicyState& state) const override {
    const auto turn = state.load<std::uint64_t>();
    state.store(turn + 1);
    state.why = Reason("random");
    Draws draws({.seed = seed_, .position = turn}, 1);
    const auto below = [&](std::int32_t bound) {
      return static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(bound)));
    };
    Settings settings;
    for (const Knob& knob : knob_table()) {
      const KnobRange range(knob, state.limits);
      std::int32_t places = 1;
      for (std::int32_t value = range.low(); value != range.high(); value = range.up(value)) ++places;
      std::int32_t value = range.low();
      for (std::int32_t i = below(places); i > 0; --i) value = range.up(value);
      settings[knob.id] = value;
    }
    // Throw the sixteenths that are free after every lane has its one, each at a random lane.
    const auto lanes = static_cast<std::int32_t>(state.limits.weighted.count());
    for (std::int32_t i = lanes == 0 ? kWeightUnit : 0; i < kWeightUnit; ++i) {
      std::int32_t lucky = i < lanes ? i : below(lanes);
      for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
        if (state.limits.weighted[lane] && lucky-- == 0) ++settings.lane_weights[lane];
      }
    }
    return settings;
  }

 private:
  std::uint64_t seed_;
  bool raw_;
};

/// Throws std::runtime_error("injected fault") at its `at`-th decision, counted from one; until then it holds.
class Faulty final : public Policy {
 public:
  explicit Faulty(std::uint64_t at = 2) noexcept : at_(at) {}
  std::string_view name() const noexcept override { return "faulty"; }
  bool knows(const PolicyState&) const noexcept override { return true; }

  Settings decide(const Observation& observation, PolicyState& state) const override {
    const auto turn = state.load<std::uint64_t>() + 1;
    state.store(turn);
    if (turn == at_) throw std::runtime_error("injected fault");
    return observation.settings;
  }

 private:
  std::uint64_t at_;
};

/// Makes them known by their names in this process, from here on.
inline void register_test_policies() {
  using Made = Result<std::unique_ptr<Policy>>;
  using Config = PolicyConfig;
  register_policy({"random", [](const Config&) -> Made { return std::unique_ptr<Policy>(new RandomWalk(1)); }});
  register_policy(
      {"random_raw", [](const Config&) -> Made { return std::unique_ptr<Policy>(new RandomWalk(1, true)); }});
  register_policy({"faulty", [](const Config&) -> Made { return std::unique_ptr<Policy>(new Faulty); }});
}

}  // namespace drapps
