#include "drapps/control/client.h"

#include <utility>

#include "drapps/base/caught.h"

namespace drapps {

Client::Client(std::shared_ptr<Plant> plant, std::unique_ptr<const Policy> policy, Shares* shares)
    : plant_(std::move(plant)),
      shares_(shares),
      log_(policy->name()),
      policy_(std::move(policy)),
      state_{.limits = plant_->limits()},
      guard_(state_.limits),
      seen_(plant_->observe()) {
  decided_ns_ = seen_.time_ns;
  decided_batches_ = seen_.batches;
  decided_samples_ = seen_.samples;
}

Client::~Client() {
  if (shares_ != nullptr) shares_->leave(this);
}

Limits Client::limits() const {
  Limits limits = plant_->limits();
  if (shares_ != nullptr) limits.cpus = shares_->cores(this, limits.cpus);
  return limits;
}

void Client::tick(const std::function<std::uint64_t()>& clock) noexcept {
  const std::lock_guard lock(mutex_);
  if (stopped_) return;
  if (const Status decided = catching([&] { decide(clock); }); !decided.ok()) fail(decided.error().message);
}

void Client::decide(const std::function<std::uint64_t()>& clock) {
  seen_ = plant_->observe();
  if (shares_ != nullptr) {
    shares_->observe(this, seen_);
    seen_.turn = shares_->turn(this, seen_.time_ns);
  }
  if (seen_.finished || frozen_) return;
  // A clock or a count that ran backwards is due at once: the guard has to see it.
  const KnobClock pace = policy_->pace();
  const std::uint64_t counted =
      pace.counted == Counted::kSamples ? seen_.samples - decided_samples_ : seen_.batches - decided_batches_;
  const bool waited = seen_.time_ns - decided_ns_ >= pace.period_ns && counted >= pace.count;
  if (policy_->guarded() && !waited) return;
  decided_ns_ = seen_.time_ns;
  decided_batches_ = seen_.batches;
  decided_samples_ = seen_.samples;
  if (const Limits limits = this->limits(); limits != state_.limits) {
    state_.limits = limits;
    guard_.set_limits(limits);
  }

  const Settings proposed = policy_->decide(seen_, state_);
  if (shares_ != nullptr) shares_->note(this, state_.trying, seen_.time_ns);
  Decision decision;
  if (policy_->guarded()) {
    decision = guard_.rule(seen_, proposed, clock());
  } else {
    decision = {.time_ns = seen_.time_ns,
                .before = seen_.settings,
                .proposed = proposed,
                .applied = fit_settings(proposed, state_.limits)};
  }
  decision.why = state_.why;
  if (decision.applied != decision.before) plant_->apply(decision.applied);
  log_.add(decision, seen_);
}

void Client::freeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = true;
  if (shares_ != nullptr) shares_->note(this, Trying::kNot, seen_.time_ns);
  log_.frozen(true);
}

void Client::unfreeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = false;
  log_.frozen(false);
}

void Client::swap(std::unique_ptr<const Policy> policy) {
  // The old one is destroyed behind the lock.
  const std::lock_guard lock(mutex_);
  log_.follow(policy->name(), !ended_);
  policy_.swap(policy);
  state_ = {.limits = state_.limits};
  stopped_ = ended_;
}

void Client::stop(std::string_view why) noexcept {
  const std::lock_guard lock(mutex_);
  ended_ = true;
  fail(why);
}

void Client::fail(std::string_view why) noexcept {
  stopped_ = true;
  if (shares_ != nullptr) shares_->leave(this);
  // Where there is no memory for the sentence, the loader goes on all the same.
  static_cast<void>(catching([&] { log_.stopped(why); }));
}

}  // namespace drapps
