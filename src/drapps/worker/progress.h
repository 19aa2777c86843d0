// What a worker process says of itself while it goes on: its activity, its counters, its slowest samples.
#pragma once

#include <array>
#include <cstdint>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/worker/layout.h"

namespace drapps {

/// Writes the ProcessEntry that status() and slowest() read. One thread's. What it adds to it believes its own memory,
/// rather than what others may have overwritten. A change of activity costs one look at the clock, and one at the CPU
/// clock every 10 ms.
class ProcessProgress {
 public:
  /// @param cpu_clock  gives the CPU time of what works in this process, in ns.
  ProcessProgress(ProcessEntry& process, std::uint64_t (*cpu_clock)()) noexcept
      : process_(process), cpu_clock_(cpu_clock) {}

  /// The process has attached: its first activity begins now.
  void attach() noexcept;
  /// Begins an activity, and ends the one before.
  /// @return the nanoseconds that the one before took.
  std::uint64_t enter(Activity activity) noexcept;
  Activity activity() const noexcept { return activity_; }
  void begin_sample(std::uint64_t ticket, std::int32_t piece, std::uint64_t position) noexcept;
  void end_sample() noexcept;
  void end_task() noexcept;
  /// ns of samples and collations since the last call, without that under way.
  std::uint64_t take_spent() noexcept { return std::exchange(spent_ns_, 0); }

 private:
  void keep_if_slow(std::uint64_t ns, std::uint64_t position) noexcept;

  ProcessEntry& process_;
  std::uint64_t (*const cpu_clock_)();
  Activity activity_ = Activity::kStarting;
  std::uint64_t sequence_ = 0;
  std::uint64_t since_ns_ = 0;
  std::array<std::uint64_t, kActivities> ended_ns_{};
  std::uint64_t cpu_at_ns_ = 0;    // what the CPU clock said when it was looked at last
  std::uint64_t cpu_read_ns_ = 0;  // when the CPU clock was looked at last, on CLOCK_MONOTONIC
  std::uint64_t python_cpu_ns_ = 0;
  std::uint64_t spent_ns_ = 0;
  bool made_one_ = false;
  std::uint64_t fastest_of_slow_ = 0;  // what a sample must exceed to be among the slowest
};

}  // namespace drapps
