// A policy that was learnt: a network looks at features of the plant, and moves knobs by a notch.
//
// The network's likeliest move is made, not one drawn. All sums are taken in one order and no library's function is
// asked, so the same observations give the same moves at every SIMD level. A decision allocates nothing.
#pragma once

#include <memory>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"
#include "drapps/policy/learned_weights.h"

namespace drapps {

class Learned final : public Policy {
 public:
  /// kInvalidArgument where weights are missing, or are none (learned_weights.h).
  static Result<std::unique_ptr<Policy>> make(const PolicyConfig& config);

  explicit Learned(LearnedNetwork network) : network_(std::move(network)) {}
  std::string_view name() const noexcept override { return "ppo"; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  bool knows(const PolicyState& state) const noexcept override;

 private:
  void say_moves(const Settings& before, const Settings& after, PolicyState& state) const;

  LearnedNetwork network_;
};

}  // namespace drapps
