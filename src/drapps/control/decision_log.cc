#include "drapps/control/decision_log.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "drapps/base/clock.h"

namespace drapps {
namespace {

constexpr std::uint64_t kBeforeNs = 3'000'000'000;
constexpr std::uint64_t kAfterFromNs = 1'000'000'000;
constexpr std::uint64_t kAfterToNs = 6'000'000'000;

std::string name_of_subject(std::size_t subject) {
  if (subject < kKnobs) return std::string(knob_table()[subject].name);
  return "weight " + std::string(kLanes[subject - kKnobs].name);
}

std::int32_t value_of(const Settings& settings, std::size_t subject) {
  return subject < kKnobs ? settings.knobs[subject] : settings.lane_weights[subject - kKnobs];
}

nlohmann::json milliseconds(const std::optional<double>& ns) {
  return ns ? nlohmann::json(*ns * 1e-6) : nlohmann::json();
}

}  // namespace

void DecisionLog::begin_epoch(std::uint32_t epoch) {
  const std::lock_guard lock(mutex_);
  epoch_ = epoch;
}

void DecisionLog::add(const Decision& decision, const Observation& observation) {
  const std::lock_guard lock(mutex_);
  if (decisions_++ == 0 && entries_.empty()) first_ns_ = decision.time_ns;
  const StepMark now{observation.consumer.step.count, observation.consumer.step.sum};
  measure_after(now);
  if (!marks_.empty() && (now.count < marks_.back().count || now.sum < marks_.back().sum)) marks_.clear();
  marks_.push_back(now);
  while (marks_.size() > 2 && now.sum - marks_[1].sum >= kBeforeNs) marks_.pop_front();

  const bool faulty = decision.signals != Hold::kNone;
  const bool new_fault = faulty && !faulty_;
  if (new_fault) {
    push({.epoch = epoch_,
          .time_ns = decision.time_ns,
          .subject = {},
          .hold = decision.signals,
          .remark = "the knobs stay where they are: " + std::string(decision.fault.view()),
          .more = {}});
  }
  faulty_ = faulty;

  bool written = new_fault;
  for (std::size_t subject = 0; subject < kSubjects; ++subject) {
    const bool is_knob = subject < kKnobs;
    const LogEntry entry{.epoch = epoch_,
                         .time_ns = decision.time_ns,
                         .subject = subject,
                         .before = value_of(decision.before, subject),
                         .proposed = value_of(decision.proposed, subject),
                         .applied = value_of(decision.applied, subject),
                         .hold = is_knob ? decision.holds[subject] : decision.weights_hold,
                         .why = decision.why,
                         .step_before_ns = step_before(now),
                         .step_after_ns = {}};
    const bool held = entry.applied == entry.before && entry.proposed != entry.before;
    const bool unusable = entry.hold == Hold::kStale || entry.hold == Hold::kBroken;
    const bool news = entry.applied != entry.before || (held && !unusable && entry.hold != last_holds_[subject]);
    last_holds_[subject] = held ? entry.hold : Hold::kNone;
    moves_ += entry.applied != entry.before;
    held_ += held;
    if (!news) continue;
    push(entry);
    written = true;
  }
  if (!written && !decision.why.view().empty() && !(decision.why == last_why_)) {
    push({.epoch = epoch_,
          .time_ns = decision.time_ns,
          .subject = {},
          .hold = Hold::kNone,
          .why = decision.why,
          .step_before_ns = step_before(now),
          .step_after_ns = {}});
  }
  last_why_ = decision.why;
  if (decision.applied == decision.before) return;
  moved_ = now;
  after_.reset();
  moved_ns_ = decision.time_ns;
}

void DecisionLog::remark(std::string why, std::string more) {
  const std::lock_guard lock(mutex_);
  note(std::move(why), std::move(more));
}

void DecisionLog::follow(std::string_view policy, bool runs) {
  const std::lock_guard lock(mutex_);
  std::string why = "policy " + std::string(policy) + " follows " + policy_;
  if (!stop_reason_.empty()) why += " (" + stop_reason_ + ")";
  note(std::move(why), {});
  policy_ = policy;
  last_why_ = {};
  if (runs) stop_reason_.clear();
}

void DecisionLog::note(std::string why, std::string more) {
  const std::uint64_t now = monotonic_ns();
  if (decisions_ == 0 && entries_.empty()) first_ns_ = now;
  push({.epoch = epoch_, .time_ns = now, .subject = {}, .remark = std::move(why), .more = std::move(more)});
}

void DecisionLog::measure_after(const StepMark& now) {
  if (!moved_) return;
  if (after_ && now.count > after_->count && now.sum >= after_->sum) {
    const double mean = static_cast<double>(now.sum - after_->sum) / static_cast<double>(now.count - after_->count);
    for (auto entry = entries_.rbegin(); entry != entries_.rend() && entry->time_ns >= moved_ns_; ++entry) {
      if (entry->subject && entry->applied != entry->before) entry->step_after_ns = mean;
    }
  }
  const std::uint64_t passed = now.sum < moved_->sum ? kAfterToNs : now.sum - moved_->sum;
  if (passed >= kAfterToNs) {
    after_.reset();
    moved_.reset();
  } else if (!after_ && passed >= kAfterFromNs) {
    after_ = now;
  }
}

std::optional<double> DecisionLog::step_before(const StepMark& now) const {
  const StepMark& then = marks_.front();
  if (now.count <= then.count || now.sum < then.sum) return std::nullopt;
  return static_cast<double>(now.sum - then.sum) / static_cast<double>(now.count - then.count);
}

void DecisionLog::push(const LogEntry& entry) {
  if (entries_.size() == kEntries) {
    entries_.pop_front();
    ++dropped_;
  }
  entries_.push_back(entry);
}

void DecisionLog::stopped(std::string_view why) {
  const std::lock_guard lock(mutex_);
  if (stop_reason_.empty()) stop_reason_ = "control stopped: " + std::string(why);
}

void DecisionLog::frozen(bool frozen) {
  const std::lock_guard lock(mutex_);
  frozen_ = frozen;
}

std::string DecisionLog::stop_reason() const {
  const std::lock_guard lock(mutex_);
  return stop_reason_;
}

nlohmann::json DecisionLog::to_json() const {
  const std::lock_guard lock(mutex_);
  nlohmann::json entries = nlohmann::json::array();
  for (const LogEntry& entry : entries_) {
    const auto value = [&](std::int32_t number) { return entry.subject ? nlohmann::json(number) : nlohmann::json(); };
    // Signals may be broken: an entry may be older than the first.
    const double seconds = (static_cast<double>(entry.time_ns) - static_cast<double>(first_ns_)) * 1e-9;
    entries.push_back({{"epoch", entry.epoch},
                       {"time_s", seconds},
                       {"knob", entry.subject ? nlohmann::json(name_of_subject(*entry.subject)) : nlohmann::json()},
                       {"before", value(entry.before)},
                       {"proposed", value(entry.proposed)},
                       {"applied", value(entry.applied)},
                       {"why", entry.remark.empty() ? std::string(entry.why.view()) : entry.remark},
                       {"held", entry.hold == Hold::kNone ? nlohmann::json() : nlohmann::json(name_of(entry.hold))},
                       {"step_ms_before", milliseconds(entry.step_before_ns)},
                       {"step_ms_after", milliseconds(entry.step_after_ns)}});
    if (!entry.more.empty()) entries.back().update(nlohmann::json::parse(entry.more));
  }
  return {{"policy", policy_},
          {"status", !stop_reason_.empty() ? "stopped"
                     : frozen_             ? "frozen"
                                           : "running"},
          {"stop_reason", stop_reason_.empty() ? nlohmann::json() : nlohmann::json(stop_reason_)},
          {"totals", {{"decisions", decisions_}, {"moves", moves_}, {"held", held_}, {"dropped", dropped_}}},
          {"entries", std::move(entries)}};
}

}  // namespace drapps
