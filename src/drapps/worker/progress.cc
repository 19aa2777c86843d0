#include "drapps/worker/progress.h"

#include <algorithm>

#include "drapps/base/clock.h"

namespace drapps {
namespace {

/// Adds to a counter that nobody else writes.
template <class T>
void add(std::atomic<T>& counter, T more) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + more, std::memory_order_relaxed);
}

// A look at the CPU clock takes half a microsecond, so small samples share one.
constexpr std::uint64_t kCpuPeriodNs = 10'000'000;

constexpr bool is_python(Activity activity) noexcept {
  return activity == Activity::kSample || activity == Activity::kCollate;
}

}  // namespace

void ProcessProgress::attach() noexcept {
  since_ns_ = monotonic_ns();
  process_.attached_ns.store(since_ns_, std::memory_order_relaxed);
  process_.since_ns.store(since_ns_, std::memory_order_relaxed);
  process_.sequence.store(sequence_ += 2, std::memory_order_release);
}

std::uint64_t ProcessProgress::enter(Activity activity) noexcept {
  // The clock is read within the change, and words are stored with release: see WorkerClock.
  process_.sequence.store(sequence_ + 1, std::memory_order_relaxed);
  const std::uint64_t now = monotonic_ns();
  const std::uint64_t took = now - since_ns_;
  const Activity before = std::exchange(activity_, activity);
  const auto put = [](std::atomic<std::uint64_t>& word, std::uint64_t value) {
    word.store(value, std::memory_order_release);
  };
  const auto place = static_cast<std::size_t>(before);
  put(process_.ended_ns[place], ended_ns_[place] += took);
  if (is_python(before)) spent_ns_ += took;
  if (before == Activity::kStarting || (is_python(before) && now - cpu_read_ns_ >= kCpuPeriodNs)) {
    const std::uint64_t cpu = cpu_clock_();
    if (before != Activity::kStarting) python_cpu_ns_ += cpu - cpu_at_ns_;
    put(process_.python_cpu_ns, python_cpu_ns_);
    cpu_at_ns_ = cpu;
    cpu_read_ns_ = now;
    // The counter of the heartbeat is of the process, and says nothing of one thread among several.
    put(process_.cpu_at_ns, cpu_clock_ == &process_cpu_ns ? cpu : kNoTicket);
  }
  put(process_.since_ns, since_ns_ = now);
  process_.activity.store(activity, std::memory_order_release);
  process_.sequence.store(sequence_ += 2, std::memory_order_release);
  if (before == Activity::kStarting && activity != before) process_.ready_ns.store(now, std::memory_order_relaxed);
  if (before == Activity::kSample && !std::exchange(made_one_, true)) {
    process_.first_sample_ns.store(now, std::memory_order_relaxed);
  }
  return took;
}

void ProcessProgress::begin_sample(std::uint64_t ticket, std::int32_t piece, std::uint64_t position) noexcept {
  process_.ticket.store(ticket, std::memory_order_relaxed);
  process_.piece.store(piece, std::memory_order_relaxed);
  process_.position.store(position, std::memory_order_relaxed);
  enter(Activity::kSample);
}

void ProcessProgress::end_sample() noexcept {
  const std::uint64_t took = enter(Activity::kIdle);
  add(process_.samples, std::uint64_t{1});
  const auto piece = static_cast<std::uint64_t>(process_.piece.load(std::memory_order_relaxed));
  if (took > fastest_of_slow_) keep_if_slow(took, process_.position.load(std::memory_order_relaxed) + piece);
}

void ProcessProgress::end_task() noexcept {
  enter(Activity::kIdle);
  add(process_.tasks, std::uint64_t{1});
}

void ProcessProgress::keep_if_slow(std::uint64_t ns, std::uint64_t position) noexcept {
  const auto ns_of = [](const SlowSample& slow) { return slow.ns.load(std::memory_order_relaxed); };
  SlowSample& least = *std::ranges::min_element(process_.slowest, {}, ns_of);
  least.ns.store(0, std::memory_order_relaxed);  // a reader that sees the halves of two samples drops both
  least.position.store(position, std::memory_order_release);
  least.ns.store(ns, std::memory_order_release);
  fastest_of_slow_ = ns_of(*std::ranges::min_element(process_.slowest, {}, ns_of));
}

}  // namespace drapps
