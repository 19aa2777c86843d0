// A process by a name that no other one ever has.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace drapps {

/// When a process began, in clock ticks since the machine did; 0 where no such process runs. With the pid it names a
/// process for ever, which the pid alone does not.
std::uint64_t process_start_time(std::int32_t pid);

struct ProcessName {
  /// How many bits of the start time count: a clock of 100 ticks a second passes them in five years.
  static constexpr int kStartBits = 34;
  static constexpr std::uint64_t kStartMask = (std::uint64_t{1} << kStartBits) - 1;

  pid_t pid = 0;
  std::uint64_t start = 0;  // process_start_time(pid) & kStartMask

  /// The process that asks. Its start is 0 where /proc does not say it, as where no descriptor is left.
  static ProcessName own();
  /// Whether it is certain that the process runs no more: what cannot be found out is no end. It has not ended while
  /// one of its threads runs, even where the first one has.
  bool has_ended() const;
  /// Whether it is certain that the process stands still, as after SIGSTOP or under a debugger.
  bool is_stopped() const;
};

}  // namespace drapps
