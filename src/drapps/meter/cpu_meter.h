// How busy the cores are, whoever uses them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "drapps/meter/rate.h"
#include "drapps/meter/reading.h"
#include "drapps/meter/system_file.h"

namespace drapps {

/// Shares of the time of a core. Means and maxima are over the cores that this process may run on.
struct CpuReadings {
  Reading use_mean;
  Reading use_max;
  Reading iowait_mean;  // idle while something waits for a disk
  Reading iowait_max;
  Reading steal_mean;  // the hypervisor gave the core to another machine
  Reading steal_max;
  Reading machine_use;  // mean over all cores that are online
};

inline constexpr std::array<ReadingInfo, kReadings<CpuReadings>> kCpuInfo{{
    {"cpu.use_mean", "share", "/proc/stat"},
    {"cpu.use_max", "share", "/proc/stat"},
    {"cpu.iowait_mean", "share", "/proc/stat"},
    {"cpu.iowait_max", "share", "/proc/stat"},
    {"cpu.steal_mean", "share", "/proc/stat"},
    {"cpu.steal_max", "share", "/proc/stat"},
    {"cpu.machine_use", "share", "/proc/stat"},
}};

struct CoreReadings {
  int cpu = 0;
  Reading use, iowait, steal;
};

class CpuMeter {
 public:
  explicit CpuMeter(std::string root = "");

  /// A core that went offline is left out; one that came back counts from the second look on. The kernel counts in
  /// ticks of mostly 10 ms, so that over half a second a share has an error of 2 %.
  CpuReadings read(std::uint64_t now_ns);

  /// The cores of the mean, as of the last read(), by number.
  const std::vector<CoreReadings>& cores() const noexcept { return cores_; }

 private:
  struct CpuRates {
    Rate use, iowait, steal;
  };

  const std::string root_;
  SystemFile stat_;
  const double tick_seconds_;
  std::set<int> allowed_{};  // empty: all
  std::uint64_t look_again_ns_ = 0;
  std::map<int, CpuRates> rates_{};
  std::vector<CoreReadings> cores_{};
};

}  // namespace drapps
