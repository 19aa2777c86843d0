#include "drapps/policy/decider.h"

#include <utility>

#include "drapps/plant/knob_range.h"

namespace drapps {

std::unique_ptr<const Policy> Decider::swap(std::unique_ptr<const Policy> policy) noexcept {
  state_ = {.limits = state_.limits};
  return std::exchange(policy_, std::move(policy));
}

void Decider::set_limits(const Limits& limits) noexcept {
  state_.limits = limits;
  guard_.set_limits(limits);
}

Status Decider::restore(const DeciderState& state) {
  if (!policy_->knows(state.policy)) {
    return invalid("what policy " + std::string(policy_->name()) + " is said to remember is nothing of its own");
  }
  Guard guard(state.policy.limits);
  if (!guard.restore(state.guard)) return invalid("what the guard is said to remember is nothing of its own");
  state_ = state.policy;
  guard_ = guard;
  return ok_status();
}

Decision Decider::decide(const Observation& seen, const std::function<std::uint64_t()>& clock) {
  const bool missing = seen.time_ns == 0;
  const Settings proposed = missing ? seen.settings : policy_->decide(seen, state_);
  const std::uint64_t now = clock();
  Decision decision;
  if (policy_->guarded()) {
    decision = guard_.rule(seen, proposed, now);
  } else {
    decision = {.time_ns = seen.time_ns,
                .before = seen.settings,
                .proposed = proposed,
                .applied = fit_settings(proposed, state_.limits)};
  }
  decision.guard_ns = now;
  if (!missing) decision.why = state_.why;
  return decision;
}

}  // namespace drapps
