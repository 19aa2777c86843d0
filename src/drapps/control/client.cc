#include "drapps/control/client.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"

namespace drapps {
namespace {

PolicyConfig config_or_name(std::optional<PolicyConfig> config, std::string_view name) {
  return config ? *std::move(config) : PolicyConfig{.name = std::string(name)};
}

std::string json_of(const PolicyConfig& config) { return policy_config_to_json(config).dump(); }

}  // namespace

Client::Client(std::shared_ptr<Plant> plant, std::unique_ptr<const Policy> policy, Shares* shares,
               std::optional<PolicyConfig> config, Meters* meters)
    : plant_(std::move(plant)),
      shares_(shares),
      meters_(meters),
      log_(policy->name()),
      // In braces, as the first is to be made of the policy before that is gone.
      decider_{config_or_name(std::move(config), policy->name()), std::move(policy), plant_->limits(),
               [this](const std::vector<std::byte>& weights) {
                 if (const auto writer = recorder()) writer->renewed(weights);
               }} {
  decided(plant_->counters());
}

Client::~Client() {
  if (shares_ != nullptr) shares_->leave(this);
  if (meters_ != nullptr) meters_->leave(this);
}

Limits Client::limits() const {
  Limits limits = plant_->limits();
  if (shares_ != nullptr) limits.cpus = shares_->cores(this, limits.cpus);
  return limits;
}

void Client::begin_epoch(std::uint32_t epoch) {
  log_.begin_epoch(epoch);
  began_ = true;
  if (const auto writer = recorder()) writer->pass(epoch);
}

void Client::tick(const std::function<std::uint64_t()>& clock) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const Status decided = stopped_ ? ok_status() : catching([&] { decide(clock); });
    if (!decided.ok()) fail(decided.error().message);
    if (decided.ok() && !stopped_) static_cast<void>(catching([&] { learn(clock()); }));
  }
  static_cast<void>(catching([&] { keep_learnt(); }));
  // Who waits for a tick does not wait for a file.
  const auto writer = recorder();
  if (writer == nullptr) return;
  const Status written = writer->flush(monotonic_ns());
  if (written.ok()) return;
  static_cast<void>(catching([&] { remark("the recording has ended: " + written.error().to_string(), {}); }));
}

void Client::decide(const std::function<std::uint64_t()>& clock) {
  const PlantCounters now = plant_->counters();
  seen_ns_ = now.time_ns;
  if (shares_ != nullptr) shares_->observe(this, now);
  if (now.finished || frozen_) return;
  const KnobClock pace = decider_->policy().pace(decider_->limits());
  // What the machine did between passes is nothing of this one's, unless they follow each other at once.
  const bool due = now.time_ns - decided_ns_ >= pace.period_ns;
  if (began_.exchange(false) && due) static_cast<void>(read_meters(now.time_ns));
  // A clock or a count that ran backwards is due at once: the guard has to see it.
  const std::uint64_t counted =
      pace.counted == Counted::kSamples ? now.samples - decided_samples_ : now.batches - decided_batches_;
  const bool waited = due && counted >= pace.count;
  if (decider_->policy().guarded() && !waited) return;
  decided(now);
  if (const Limits limits = this->limits(); limits != decider_->limits()) decider_->set_limits(limits);

  Observation seen;
  // One that fails is missing, which holds the knobs; the next may be there.
  if (!catching([&] { seen = plant_->observe(); }).ok()) seen = {.settings = plant_->settings()};
  if (seen.time_ns != 0) seen.meters = read_meters(seen.time_ns);
  if (shares_ != nullptr) seen.turn = shares_->turn(this, now.time_ns);
  const Decision decision = decider_.decide(seen, clock);
  if (shares_ != nullptr) shares_->note(this, decider_->trying(), now.time_ns);
  record(seen, decision);  // before what may fail
  if (decision.applied != decision.before) plant_->apply(decision.applied);
  log_.add(decision, seen);
}

MeterObservation Client::read_meters(std::uint64_t now_ns) {
  MeterObservation seen;
  if (meters_ == nullptr) return seen;
  // An observation without them is one all the same.
  static_cast<void>(
      catching([&] { seen = observation_of(meters_->read(now_ns, this, plant_->worker_pids()), now_ns); }));
  return seen;
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
  if (const auto writer = recorder()) writer->frozen(true);
}

void Client::unfreeze() {
  const std::lock_guard lock(mutex_);
  frozen_ = false;
  log_.frozen(false);
  if (const auto writer = recorder()) writer->frozen(false);
}

void Client::swap(std::unique_ptr<const Policy> policy, std::optional<PolicyConfig> config) {
  std::unique_ptr<const Policy> before;  // destroyed behind the lock
  const std::lock_guard lock(mutex_);
  log_.follow(policy->name(), !ended_);
  PolicyConfig own = config_or_name(std::move(config), policy->name());
  if (const auto writer = recorder()) writer->swapped(policy->name(), json_of(own));
  before = decider_.swap(std::move(own), std::move(policy));
  stopped_ = ended_;
}

void Client::learn(std::uint64_t now_ns) {
  if (decider_.learner() == nullptr || frozen_) return;
  decider_.go_on(now_ns);
  if (std::string remark = decider_.learner()->take_remark(); !remark.empty()) log_.remark(std::move(remark), {});
}

std::shared_ptr<LiveLearner> Client::learner() const {
  const std::lock_guard lock(mutex_);
  return decider_.learner();
}

/// Who waits for a tick does not wait for a file.
void Client::keep_learnt() {
  const auto learner = this->learner();
  if (learner == nullptr) return;
  if (const Status kept = learner->keep(); !kept.ok()) {
    remark("learning: what was learnt could not be kept: " + kept.error().to_string(), {});
  }
}

nlohmann::json Client::learning() const {
  const auto learner = this->learner();
  return learner == nullptr ? nlohmann::json() : learner->to_json();
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
  if (const auto writer = recorder()) writer->stopped(why);
}

void Client::record(std::shared_ptr<trace::TraceWriter> writer, std::function<trace::SampleBatch()> samples) {
  const std::lock_guard lock(mutex_);
  const std::string config = json_of(decider_.config());
  writer->began({.policy = decider_->policy().name(),
                 .config = config,
                 .state = decider_->save(),
                 .frozen = frozen_,
                 .stopped = stopped_});
  samples_ = std::move(samples);
  const std::lock_guard recorder_lock(recorder_mutex_);
  recorder_ = std::move(writer);
}

void Client::record(const Observation& seen, const Decision& decision) {
  const auto writer = recorder();
  if (writer == nullptr) return;
  trace::SampleBatch samples;
  // Without samples it is a decision all the same.
  if (samples_) static_cast<void>(catching([&] { samples = samples_(); }));
  writer->decision(decider_->limits(), seen, decision, samples);
}

std::shared_ptr<trace::TraceWriter> Client::recorder() const {
  const std::lock_guard lock(recorder_mutex_);
  return recorder_ == nullptr || recorder_->ended() ? nullptr : recorder_;
}

}  // namespace drapps
