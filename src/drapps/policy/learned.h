// A policy that was learnt: a network looks at features of the plant, and moves knobs by a notch.
//
// The network's likeliest move is made, not one drawn. All sums are taken in one order and no library's function is
// asked, so the same observations give the same moves at every SIMD level. A decision allocates nothing.
//
// A residual policy moves by a notch what a heuristic proposes, and not what is in force.
// Source: T. Silver, K. Allen, J. Tenenbaum, L. Kaelbling, "Residual policy learning", arXiv:1812.06298, 2018.
#pragma once

#include <array>
#include <memory>
#include <string_view>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"
#include "drapps/policy/learned_weights.h"
#include "drapps/policy/published.h"

namespace drapps {

/// Ways to learn, and published designs (published.h), by which policies with weights are called.
inline constexpr std::array<std::string_view, 10> kLearnedNames{"ppo",     "sac",     "cql",     "bcq",     "awac",
                                                                "cloning", "paper-a", "paper-b", "paper-c", "residual"};

class LearnedPolicy final : public Policy {
 public:
  /// kInvalidArgument where weights are missing, or are none (learned_weights.h).
  static Result<std::unique_ptr<Policy>> make(const PolicyConfig& config);

  /// @param name  of the way in which it learnt, of kLearnedNames: it says how often it decides, and decides nothing.
  /// @param base  the policy of network.over; null where that is empty.
  LearnedPolicy(LearnedNetwork network, std::string_view name, std::unique_ptr<const Policy> base = nullptr)
      : network_(std::move(network)), name_(name), base_(std::move(base)) {}
  std::string_view name() const noexcept override { return name_; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  KnobClock pace() const noexcept override { return learned_pace(name_); }
  bool knows(const PolicyState& state) const noexcept override;

 private:
  Settings proposed_by_base(const Observation& observation, PolicyState& state) const;
  /// That it stays, and what of its own this plant has not.
  void say_stays(PolicyState& state) const;
  void say_moves(const Settings& before, const Settings& after, PolicyState& state) const;

  LearnedNetwork network_;
  std::string_view name_;
  std::unique_ptr<const Policy> base_;
};

}  // namespace drapps
