// A policy behind its guard, and under a judge where it is to have one: from what was seen to what is to be applied.
// The same observations, limits and readings of the clock give the same decisions, live and in a replay.
//
//   Decider decider(*make_policy({.name = "trials"}), plant.limits());
//   const Decision decision = decider.decide(plant.observe(), monotonic_ns);
//   plant.apply(decision.applied);
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/plant/policy.h"
#include "drapps/policy/guard.h"
#include "drapps/policy/judge.h"

namespace drapps {

/// What a decider has come to: one of the same policy and limits that is given it decides as that one would have.
struct DeciderState {
  PolicyState policy{};
  std::vector<std::uint64_t> guard{};  // Guard::save(), and Judge::save() where there is one
};
/// Named in what is stored: changes with what guards and policies remember.
inline constexpr std::string_view kDeciderState = "9";

/// Not thread-safe; reads no clock of its own.
class Decider {
 public:
  Decider(std::unique_ptr<const Policy> policy, const Limits& limits)
      : policy_(std::move(policy)), state_{.limits = limits}, guard_(limits) {
    appoint();
  }

  const Policy& policy() const noexcept { return *policy_; }
  /// Another one, which remembers nothing; the guard stays as it is. The old one is given back.
  std::unique_ptr<const Policy> swap(std::unique_ptr<const Policy> policy) noexcept;
  /// The same policy with other weights: it remembers what it did, and so does its judge. The old one is given back.
  std::unique_ptr<const Policy> renew(std::unique_ptr<const Policy> policy) noexcept;

  const Limits& limits() const noexcept { return state_.limits; }
  void set_limits(const Limits& limits) noexcept;
  /// What the policy, or its judge, did about its turn, last.
  Trying trying() const noexcept {
    return judge_ && judge_->trying() != Trying::kNot ? judge_->trying() : state_.trying;
  }

  /// @param seen   where it is missing (its time is 0) the policy is not asked.
  /// @param clock  the plant's now, in ns; read once, behind the policy, so that what took too long is stale.
  Decision decide(const Observation& seen, const std::function<std::uint64_t()>& clock);

  /// What the policy remembers as the next decision begins.
  const PolicyState& state() const noexcept { return state_; }
  /// Whether the policy was asked, and not its judge, in the last decision.
  bool asked() const noexcept { return asked_; }
  /// What the judge, where there is one, has found out in the last decision.
  Judge::Verdict verdict() const noexcept { return judge_ ? judge_->verdict() : Judge::Verdict::kNone; }
  /// Whether the judge compares the policy's settings with others.
  bool probed() const noexcept { return judge_ && judge_->phase() == Judge::Phase::kProbes; }

  DeciderState save() const;
  /// Goes on from a state, with its limits. kInvalidArgument where it is no state of such a guard and policy; nothing
  /// is changed then.
  Status restore(const DeciderState& state);

 private:
  void appoint() noexcept;

  std::unique_ptr<const Policy> policy_;
  PolicyState state_;
  Guard guard_;
  std::optional<Judge> judge_;
  bool asked_ = false;
};

}  // namespace drapps
