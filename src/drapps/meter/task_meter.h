// The CPU time of this process's threads and of its worker processes, and how long they waited for a core.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drapps/meter/rate.h"
#include "drapps/meter/reading.h"
#include "drapps/meter/system_file.h"

namespace drapps {

struct TaskReadings {
  Reading threads_count;   // of this process, all of them
  Reading threads_cpu;     // cores that they use, and those that have ended
  Reading threads_wait;    // threads that are ready to run and have no core, on average
  Reading processes_cpu;   // cores that the worker processes use
  Reading processes_wait;  // main threads of these processes that are ready to run and have no core, on average
};

inline constexpr std::array<ReadingInfo, kReadings<TaskReadings>> kTaskInfo{{
    {"threads.count", "threads", "/proc/self/task"},
    {"threads.cpu", "cores", "/proc/self/stat"},
    {"threads.wait", "threads", "/proc/self/task/*/schedstat"},
    {"processes.cpu", "cores", "/proc/<pid>/stat"},
    {"processes.wait", "threads", "/proc/<pid>/schedstat"},
}};

/// Growth per second of one counter, summed over tasks that come and go. One that is not there any more adds nothing
/// any more. Never negative.
class TaskRates {
 public:
  using Counts = std::vector<std::pair<int, std::uint64_t>>;  // a task, and what its counter stands at

  enum class New : std::uint8_t {
    kNothing,   // what was not there at the look before adds nothing yet: it may be old
    kFromZero,  // it has begun since then
  };

  TaskRates(double scale, New unseen) noexcept : scale_(scale), unseen_(unseen) {}
  /// Invalid where nothing that adds was seen twice, and where time does not move on.
  Reading read(Counts counts, std::uint64_t now_ns);

 private:
  double scale_;
  New unseen_;
  Counts before_{};  // by task
  std::uint64_t before_ns_ = 0;
};

class TaskMeter {
 public:
  explicit TaskMeter(std::string root = "");

  /// Looks at the threads so seldom that it takes about 0.1 % of a core, however many there are: readings may be those
  /// of an earlier call.
  /// @param processes  pids of the worker processes.
  TaskReadings read(std::uint64_t now_ns, std::span<const std::int32_t> processes);

 private:
  void look_at_threads(std::uint64_t now_ns);

  const std::string root_;
  std::uint64_t look_again_ns_ = 0;
  TaskReadings seen_{};
  SystemFile own_;
  Rate threads_cpu_;
  TaskRates threads_wait_, processes_cpu_, processes_wait_;
};

}  // namespace drapps
