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

}  // namespace

std::uint64_t Progress::enter(Activity activity) noexcept {
  const std::uint64_t now = monotonic_ns();
  const std::uint64_t took = now - process_.since_ns.load(std::memory_order_relaxed);
  const Activity before = process_.activity.load(std::memory_order_relaxed);
  if (before == Activity::kSample || before == Activity::kCollate) add(process_.busy_ns, took);
  if (before == Activity::kStarting) {
    (activity == Activity::kStarting ? process_.attached_ns : process_.ready_ns).store(now, std::memory_order_relaxed);
  } else if (before == Activity::kSample && process_.first_sample_ns.load(std::memory_order_relaxed) == 0) {
    process_.first_sample_ns.store(now, std::memory_order_relaxed);
  }
  process_.activity.store(activity, std::memory_order_relaxed);
  process_.since_ns.store(now, std::memory_order_relaxed);
  return took;
}

void Progress::begin_sample(std::uint64_t ticket, std::int32_t piece, std::uint64_t position) noexcept {
  process_.ticket.store(ticket, std::memory_order_relaxed);
  process_.piece.store(piece, std::memory_order_relaxed);
  process_.position.store(position, std::memory_order_relaxed);
  enter(Activity::kSample);
}

void Progress::end_sample() noexcept {
  const std::uint64_t took = enter(Activity::kIdle);
  add(process_.samples, std::uint64_t{1});
  const auto piece = static_cast<std::uint64_t>(process_.piece.load(std::memory_order_relaxed));
  if (took > fastest_of_slow_) keep_if_slow(took, process_.position.load(std::memory_order_relaxed) + piece);
}

void Progress::end_task() noexcept {
  enter(Activity::kIdle);
  add(process_.tasks, std::uint64_t{1});
}

void Progress::keep_if_slow(std::uint64_t ns, std::uint64_t position) noexcept {
  const auto ns_of = [](const SlowSample& slow) { return slow.ns.load(std::memory_order_relaxed); };
  SlowSample& least = *std::ranges::min_element(process_.slowest, {}, ns_of);
  least.ns.store(0, std::memory_order_relaxed);  // a reader that sees the halves of two samples drops both
  least.position.store(position, std::memory_order_release);
  least.ns.store(ns, std::memory_order_release);
  fastest_of_slow_ = ns_of(*std::ranges::min_element(process_.slowest, {}, ns_of));
}

}  // namespace drapps
