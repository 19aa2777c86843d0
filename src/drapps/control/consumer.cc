#include "drapps/control/consumer.h"

#include <algorithm>
#include <utility>

#include "drapps/base/clock.h"

namespace drapps {

ConsumerTimes::Counts ConsumerTimes::counts(std::uint64_t now_ns) const {
  const std::scoped_lock lock(mutex_);
  Counts counts = counts_;
  counts.stall.sum = shown_stall_ns(now_ns);
  if (ended_ns_ != 0 && now_ns > ended_ns_) counts.between_ns += now_ns - ended_ns_;
  return counts;
}

ConsumerObservation ConsumerTimes::observe(std::uint64_t now_ns) {
  const Counts now = counts(now_ns);
  const std::scoped_lock lock(mutex_);
  return {.passes = now.passes,
          .samples = now.samples,
          .step = spread(now.step, step_before_),
          .stall = spread(now.stall, stall_before_),
          .helped_ns = now.helped_ns,
          .between_ns = now.between_ns};
}

std::uint64_t ConsumerTimes::stall_ns(std::uint64_t now_ns) const {
  const std::scoped_lock lock(mutex_);
  return shown_stall_ns(now_ns);
}

std::uint64_t ConsumerTimes::shown_stall_ns(std::uint64_t now_ns) const {
  // A wait that goes on may turn out to have been work in part: the sum waits for that, rather than going back.
  shown_ns_ = std::max(shown_ns_, counts_.stall.sum + waiting_ * now_ns - asked_sum_ns_);
  return shown_ns_;
}

ConsumerClock::~ConsumerClock() { ends(monotonic_ns()); }

void ConsumerClock::asks(std::uint64_t now_ns) {
  if (std::exchange(waits_, true)) return;
  ConsumerTimes& times = *times_;
  const std::scoped_lock lock(times.mutex_);
  const std::uint64_t before = std::exchange(asked_ns_, now_ns);
  if (before != 0) {
    times.counts_.step.record(now_ns - before);
    times.counts_.samples += batch_;
    if (!std::exchange(stepped_, true)) ++times.counts_.passes;
  } else {
    if (times.ended_ns_ != 0) times.counts_.between_ns += now_ns - std::exchange(times.ended_ns_, 0);
    ++times.under_way_;
  }
  ++times.waiting_;
  times.asked_sum_ns_ += now_ns;
}

void ConsumerClock::gives(std::uint64_t now_ns, std::uint64_t helped_ns) {
  if (!std::exchange(waits_, false)) return;
  ConsumerTimes& times = *times_;
  const std::scoped_lock lock(times.mutex_);
  const std::uint64_t took = now_ns - asked_ns_;
  const std::uint64_t stall = took - std::min(took, helped_ns);
  times.counts_.stall.record(stall);
  times.counts_.helped_ns += helped_ns;
  stall_ns_ += stall;
  --times.waiting_;
  times.asked_sum_ns_ -= asked_ns_;
}

void ConsumerClock::ends(std::uint64_t now_ns) {
  if (asked_ns_ == 0) return;
  ConsumerTimes& times = *times_;
  const std::scoped_lock lock(times.mutex_);
  if (std::exchange(waits_, false)) {
    // Who asks at the end of the pass, or gives up, has waited, but for no batch.
    times.counts_.stall.sum += now_ns - asked_ns_;
    --times.waiting_;
    times.asked_sum_ns_ -= asked_ns_;
  }
  if (--times.under_way_ == 0) times.ended_ns_ = now_ns;
  asked_ns_ = 0;
  stepped_ = false;
}

}  // namespace drapps
