// Moves at random, one notch at a time, to make runs from which something can be learnt: each decision's reason says
// what was drawn and how likely that was.
//
// With probability `share` one of the moves that can be made now is drawn, all alike: a notch up or down of a knob that
// has an order and moves fast. Else nothing moves. The n-th draw depends on the seed and n alone.
//
// Source of recorded propensities: L. Bottou et al., "Counterfactual reasoning and learning systems", JMLR 14 (2013).
#pragma once

#include <array>
#include <cstdint>

#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"

namespace drapps {

class Explore final : public Policy {
 public:
  static constexpr std::array kParameters{PolicyParameter{"share", 0.25, 0, 1},
                                          PolicyParameter{"seed", 1, 0, 1e9, true}};

  explicit Explore(const PolicyConfig& config = {})
      : share_(config.number(kParameters[0])), seed_(static_cast<std::uint64_t>(config.number(kParameters[1]))) {}
  std::string_view name() const noexcept override { return "explore"; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  bool knows(const PolicyState&) const noexcept override { return true; }

 private:
  double share_;
  std::uint64_t seed_;
};

}  // namespace drapps
