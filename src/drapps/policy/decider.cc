#include "drapps/policy/decider.h"

#include <algorithm>
#include <span>
#include <utility>

#include "drapps/plant/knob_range.h"

namespace drapps {

std::unique_ptr<const Policy> Decider::swap(std::unique_ptr<const Policy> policy) noexcept {
  state_ = {.limits = state_.limits};
  std::unique_ptr<const Policy> before = std::exchange(policy_, std::move(policy));
  appoint();
  return before;
}

std::unique_ptr<const Policy> Decider::renew(std::unique_ptr<const Policy> policy) noexcept {
  return std::exchange(policy_, std::move(policy));
}

/// A judge who knows nothing, where the policy is to have one.
void Decider::appoint() noexcept {
  judge_.reset();
  if (policy_->judged()) judge_.emplace();
}

void Decider::set_limits(const Limits& limits) noexcept {
  // Loaders of a process share its cores anew all the time; that alone is no event.
  if (judge_ && (limits.knobs != state_.limits.knobs || limits.weighted != state_.limits.weighted)) judge_->event();
  state_.limits = limits;
  guard_.set_limits(limits);
}

Status Decider::restore(const DeciderState& state) {
  if (!policy_->knows(state.policy)) {
    return invalid("what policy " + std::string(policy_->name()) + " is said to remember is nothing of its own");
  }
  Guard guard(state.policy.limits);
  std::optional<Judge> judge = judge_;
  const std::size_t judges = judge ? Judge::saved_words() : 0;
  const std::span<const std::uint64_t> words(state.guard);
  const std::size_t guards = words.size() - std::min(words.size(), judges);
  if (!guard.restore(words.first(guards))) return invalid("what the guard is said to remember is nothing of its own");
  if (judge && !judge->restore(words.subspan(guards))) {
    return invalid("what the judge is said to remember is nothing of its own");
  }
  state_ = state.policy;
  guard_ = guard;
  judge_ = judge;
  return ok_status();
}

DeciderState Decider::save() const {
  DeciderState state{.policy = state_, .guard = guard_.save()};
  if (judge_) {
    const std::vector<std::uint64_t> words = judge_->save();
    state.guard.insert(state.guard.end(), words.begin(), words.end());
  }
  return state;
}

Decision Decider::decide(const Observation& seen, const std::function<std::uint64_t()>& clock) {
  const bool missing = seen.time_ns == 0;
  Ruling ruling;
  if (judge_ && !missing) ruling = judge_->look(seen, state_.limits);
  asked_ = !missing && !ruling.settings;
  const Settings proposed = asked_ ? policy_->decide(seen, state_) : ruling.settings.value_or(seen.settings);
  const std::uint64_t now = clock();
  Decision decision;
  if (policy_->guarded()) {
    decision = guard_.rule(seen, proposed, now, ruling.settings ? Way::kAtOnce : Way::kStepwise);
    if (judge_ && decision.signals == Hold::kBroken) judge_->event();
  } else {
    decision = {.time_ns = seen.time_ns,
                .before = seen.settings,
                .proposed = proposed,
                .applied = fit_settings(proposed, state_.limits)};
  }
  decision.guard_ns = now;
  if (!missing) decision.why = asked_ ? state_.why : ruling.why;
  return decision;
}

}  // namespace drapps
