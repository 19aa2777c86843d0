// What the cgroups of this process, v1 and v2, hold back from it: CPU time beyond a quota, memory beyond a limit.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "drapps/meter/pressure_meter.h"
#include "drapps/meter/rate.h"
#include "drapps/meter/reading.h"
#include "drapps/meter/system_file.h"

namespace drapps {

/// A group's limits hold for all that is in the groups below it, so each reading is of the group, from the process's
/// own up to the root, that holds back most.
struct CgroupReadings {
  Reading throttled;          // cores on which the group stood still because its quota was used up
  Reading throttled_periods;  // share of the quota's periods in which the group stood still
  Reading memory_used;        // bytes, page cache included; of the group that has least left, else of the process's own
  Reading memory_limit;       // bytes, of the group of memory_used; invalid where none has a limit
  Reading memory_hits;        // times that a limit was reached, a second: pages had to be reclaimed before one was had
  Reading memory_kills;       // processes that were killed for lack of memory, a second
  Reading cpu_pressure;       // share of the time that a task of the process's own group stood still, v2 alone
  Reading memory_pressure;
  Reading io_pressure;
};

inline constexpr std::array<ReadingInfo, kReadings<CgroupReadings>> kCgroupInfo{{
    {"cgroup.throttled", "cores", "cpu.stat of the cgroups"},
    {"cgroup.throttled_periods", "share", "cpu.stat of the cgroups"},
    {"cgroup.memory_used", "bytes", "memory.current or memory.usage_in_bytes"},
    {"cgroup.memory_limit", "bytes", "memory.max or memory.limit_in_bytes"},
    {"cgroup.memory_hits", "1/s", "memory.events or memory.failcnt"},
    {"cgroup.memory_kills", "1/s", "memory.events or memory.oom_control"},
    {"cgroup.cpu_pressure", "share", "cpu.pressure of the cgroup"},
    {"cgroup.memory_pressure", "share", "memory.pressure of the cgroup"},
    {"cgroup.io_pressure", "share", "io.pressure of the cgroup"},
}};

class CgroupMeter {
 public:
  explicit CgroupMeter(std::string root = "");
  ~CgroupMeter();

  /// Where the process was moved to another group, rates begin anew.
  CgroupReadings read(std::uint64_t now_ns);

 private:
  struct CpuGroup;
  struct MemoryGroup;

  void find_groups(std::uint64_t now_ns);

  const std::string root_;
  SystemFile own_;             // which groups the process is in
  std::string seen_{};         // text of own_ at the look before
  std::vector<CpuGroup> cpu_;  // the process's own first
  std::vector<MemoryGroup> memory_;
  std::vector<PressureFile> pressure_{};  // of CPU, memory, I/O; or none
};

}  // namespace drapps
