#include "drapps/control/client.h"

#include <utility>

#include "drapps/base/caught.h"

namespace drapps {

Client::Client(std::shared_ptr<Plant> plant, std::unique_ptr<const Policy> policy, Shares* shares)
    : plant_(std::move(plant)), shares_(shares), log_(policy->name()), decider_(std::move(policy), plant_->limits()) {
  decided(plant_->counters());
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
  const PlantCounters now = plant_->counters();
  seen_ns_ = now.time_ns;
  if (shares_ != nullptr) shares_->observe(this, now);
  if (now.finished || frozen_) return;
  // A clock or a count that ran backwards is due at once: the guard has to see it.
  const KnobClock pace = decider_.policy().pace();
  const std::uint64_t counted =
      pace.counted == Counted::kSamples ? now.samples - decided_samples_ : now.batches - decided_batches_;
  const bool waited = now.time_ns - decided_ns_ >= pace.period_ns && counted >= pace.count;
  if (decider_.policy().guarded() && !waited) return;
  decided(now);
  if (const Limits limits = this->limits(); limits != decider_.limits()) decider_.set_limits(limits);

  Observation seen;
  // One that fails is missing, which holds the knobs; the next may be there.
  if (!catching([&] { seen = plant_->observe(); }).ok()) seen = {.settings = plant_->settings()};
  if (shares_ != nullptr) seen.turn = shares_->turn(this, now.time_ns);
  const Decision decision = decider_.decide(seen, clock);
  if (shares_ != nullptr) shares_->note(this, decider_.trying(), now.time_ns);
  if (decision.applied != decision.before) plant_->apply(decision.applied);
  log_.add(decision, seen);
}

void Client::decided(const PlantCounters& now) noexcept {
  seen_ns_ = decided_ns_ = now.time_ns;
  decided_batches_ = now.batches;
  decided_samples_ = now.samples;
}

void Client::freeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = true;
  if (shares_ != nullptr) shares_->note(this, Trying::kNot, seen_ns_);
  log_.frozen(true);
}

void Client::unfreeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = false;
  log_.frozen(false);
}

void Client::swap(std::unique_ptr<const Policy> policy) {
  std::unique_ptr<const Policy> before;  // destroyed behind the lock
  const std::lock_guard lock(mutex_);
  log_.follow(policy->name(), !ended_);
  before = decider_.swap(std::move(policy));
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
