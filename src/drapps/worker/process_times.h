// Where the time of a worker process goes, as its parent reads it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "drapps/worker/layout.h"

namespace drapps {

/// Times since the process attached; the activity under way counts up to the moment of reading, so they sum to the time
/// since then. A process never waits for room in its region: that there is none is an error.
struct ProcessTimes {
  std::array<std::uint64_t, kActivities> activity_ns{};  // by Activity; kStarting: from attach() on
  /// CPU time since the process asked for work first, as of the last heartbeat or of 10 ms ago. Next to nothing of it
  /// is of other activities than samples and collations: what is missing to their time has gone by in waiting: for a
  /// core, for storage, asleep. Native threads of the dataset may make it more than that.
  std::uint64_t python_cpu_ns = 0;

  std::uint64_t operator[](Activity activity) const noexcept { return activity_ns[static_cast<std::size_t>(activity)]; }
  /// Samples and collations.
  std::uint64_t python_ns() const noexcept { return (*this)[Activity::kSample] + (*this)[Activity::kCollate]; }
  std::uint64_t wall_ns() const noexcept;
  /// Raises whatever is less than in `before`, which was read earlier.
  void not_before(const ProcessTimes& before) noexcept;
};

/// What the process has written. Nothing while it is in the middle of a change, in which it may have died, where it has
/// not attached, and where the words contradict each other because others wrote over them.
std::optional<ProcessTimes> read_times(const ProcessEntry& process) noexcept;

}  // namespace drapps
