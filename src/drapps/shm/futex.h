// Waiting for a word of shared memory to change.
//
//   const std::uint32_t seen = word.load();
//   if (!ready()) futex_wait(word, seen, deadline_ns);
//   word.fetch_add(1); futex_wake(word);  // elsewhere, once ready() is true
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>

namespace drapps {

inline constexpr std::uint32_t kEveryone = FUTEX_BITSET_MATCH_ANY;

enum class FutexWait : std::uint8_t { kWoken, kTimeout, kInterrupted };

/// Sleeps while `word` is `seen`, until a wake whose mask shares a bit with `mask`.
/// @param deadline_ns  on CLOCK_MONOTONIC.
/// kWoken also where the word has changed already. kInterrupted where a signal handler ran.
inline FutexWait futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, std::uint64_t deadline_ns,
                            std::uint32_t mask = kEveryone) noexcept {
  const timespec deadline{.tv_sec = static_cast<time_t>(deadline_ns / 1'000'000'000),
                          .tv_nsec = static_cast<long>(deadline_ns % 1'000'000'000)};
  if (syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, seen, &deadline, nullptr, mask) == 0) return FutexWait::kWoken;
  if (errno == ETIMEDOUT) return FutexWait::kTimeout;
  return errno == EINTR ? FutexWait::kInterrupted : FutexWait::kWoken;
}

/// Wakes up to `most` of those who wait with a bit of `mask`.
inline void futex_wake(std::atomic<std::uint32_t>& word, int most = INT_MAX, std::uint32_t mask = kEveryone) noexcept {
  syscall(SYS_futex, &word, FUTEX_WAKE_BITSET, most, nullptr, nullptr, mask);
}

}  // namespace drapps
