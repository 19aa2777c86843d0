// CPU time as a hard limit: a token bucket in CPU-seconds.
//
// Threads that serve the loader book the CPU time they used and sleep when all of them together
// are ahead of `cores` CPU-seconds per second. The bucket holds a tenth of a second, so a pause does not
// earn a burst. All members may be called from any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <mutex>

namespace drapps {

class CpuBudget {
 public:
  static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

  void set_cores(double cores) noexcept;
  double cores() const noexcept;

  /// Books `cpu_ns` at time `now_ns` (monotonic); how long the caller has to sleep before its next piece of work.
  std::chrono::nanoseconds charge(std::uint64_t cpu_ns, std::uint64_t now_ns) noexcept;

 private:
  mutable std::mutex mutex_;  // guards all below
  double cores_ = kUnlimited;
  double debt_ns_ = 0;  // CPU time booked and not yet paid off by the clock; at least -kBurst * cores
  std::uint64_t last_ns_ = 0;
};

}  // namespace drapps
