// For tests: proposes a random place for every knob at every decision, to show that tuning never changes the data.
#pragma once

#include "drapps/plant/policy.h"

namespace drapps {

/// Draws every knob from the whole of its range, and weights that fit. Repeatable: the n-th proposal depends on the
/// seed and n alone. With `raw`, nothing slows it down: every knob jumps at every decision, within the budgets.
class RandomWalk final : public Policy {
 public:
  explicit RandomWalk(std::uint64_t seed, bool raw = false) noexcept : seed_(seed), raw_(raw) {}
  std::string_view name() const noexcept override { return raw_ ? "random_raw" : "random"; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  bool guarded() const noexcept override { return !raw_; }

 private:
  std::uint64_t seed_;
  bool raw_;
};

}  // namespace drapps
