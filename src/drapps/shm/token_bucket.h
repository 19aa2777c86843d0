// A rate as a limit that processes share: the generic cell rate algorithm (ITU-T I.371) as a token bucket.
//
// Its state is one word, so that nobody who dies can leave it locked: what was booked and never used is lost to all,
// and the rate is never exceeded.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace drapps {

/// Costs and the burst are in nanoseconds at the rate: what costs the burst may come at once after as long a pause.
/// Zeros are a bucket that is full.
class TokenBucket {
 public:
  /// Books `cost_ns`; the moment at which there are tokens for it, `now_ns` at the earliest. In any window no more than
  /// its length and the burst is used, or the largest cost where that is more.
  std::uint64_t book(std::uint64_t cost_ns, std::uint64_t now_ns, std::uint64_t burst_ns) noexcept {
    return move(cost_ns, now_ns, burst_ns, kNever);
  }
  /// Books `cost_ns` only where there are tokens for it now.
  bool take(std::uint64_t cost_ns, std::uint64_t now_ns, std::uint64_t burst_ns) noexcept {
    return move(cost_ns, now_ns, burst_ns, now_ns) <= now_ns;
  }

 private:
  static constexpr std::uint64_t kNever = ~std::uint64_t{0};

  /// The moment at which there are tokens; where that is behind `latest_ns`, nothing is booked.
  std::uint64_t move(std::uint64_t cost_ns, std::uint64_t now_ns, std::uint64_t burst_ns,
                     std::uint64_t latest_ns) noexcept {
    std::uint64_t full = full_ns_.load(std::memory_order_relaxed);
    for (;;) {
      // From `full` on the bucket is full; before that, it lacks the time that is left to it.
      const std::uint64_t from = std::max(full, now_ns);
      const std::uint64_t at = std::max(now_ns, from + cost_ns - std::min(from + cost_ns, burst_ns));
      if (at > latest_ns) return at;
      if (full_ns_.compare_exchange_weak(full, std::max(from, at) + cost_ns, std::memory_order_relaxed)) return at;
    }
  }

  std::atomic<std::uint64_t> full_ns_{0};  // on CLOCK_MONOTONIC
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

}  // namespace drapps
