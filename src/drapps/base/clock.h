// Time in nanoseconds, from the system's clocks.
#pragma once

#include <time.h>

#include <cstdint>

namespace drapps {

inline std::uint64_t read_clock_ns(clockid_t id) noexcept {
  timespec now{};
  ::clock_gettime(id, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000u + static_cast<std::uint64_t>(now.tv_nsec);
}

/// Time since an arbitrary start that never goes back. About 20 ns a call.
inline std::uint64_t monotonic_ns() noexcept { return read_clock_ns(CLOCK_MONOTONIC); }

/// CPU time of the calling thread. A system call: some 200 ns.
inline std::uint64_t thread_cpu_ns() noexcept { return read_clock_ns(CLOCK_THREAD_CPUTIME_ID); }

/// CPU time of all threads of the process. A system call.
inline std::uint64_t process_cpu_ns() noexcept { return read_clock_ns(CLOCK_PROCESS_CPUTIME_ID); }

}  // namespace drapps
