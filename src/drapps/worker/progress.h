// What a worker process says of itself while it goes on: its activity, its counters, its slowest samples.
#pragma once

#include <cstdint>

#include "drapps/worker/layout.h"

namespace drapps {

/// Writes the ProcessEntry that status() and slowest() read. One thread's. A change of activity costs one look at the
/// clock.
class Progress {
 public:
  explicit Progress(ProcessEntry& process) : process_(process) {}

  /// Ends the activity before, whose time counts as busy unless the process was idle or starting.
  /// @return the nanoseconds that it took.
  std::uint64_t enter(Activity activity) noexcept;
  void begin_sample(std::uint64_t ticket, std::int32_t piece, std::uint64_t position) noexcept;
  void end_sample() noexcept;
  void end_task() noexcept;

 private:
  void keep_if_slow(std::uint64_t ns, std::uint64_t position) noexcept;

  ProcessEntry& process_;
  std::uint64_t fastest_of_slow_ = 0;  // what a sample must exceed to be among the slowest
};

}  // namespace drapps
