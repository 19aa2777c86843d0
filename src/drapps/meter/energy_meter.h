// The power that the machine's CPUs and their memory take, from the counters of RAPL (running average power limit) of
// Intel's and AMD's CPUs, which Linux shows below /sys/class/powercap. Most systems let root alone read them.
//
// All of it is about the whole machine, whoever uses it.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "drapps/meter/reading.h"
#include "drapps/meter/system_file.h"

namespace drapps {

struct EnergyReadings {
  Reading packages;  // W since the call before, summed over the sockets, cores and all
  Reading dram;      // W since the call before; few CPUs count it, and no package includes it
};

inline constexpr std::array<ReadingInfo, kReadings<EnergyReadings>> kEnergyInfo{{
    {"energy.packages", "W", "/sys/class/powercap/intel-rapl:*/energy_uj"},
    {"energy.dram", "W", "/sys/class/powercap/intel-rapl:*:*/energy_uj"},
}};

class EnergyMeter {
 public:
  /// Looks for the counters once. It reads a few small files.
  explicit EnergyMeter(const std::string& root = "");

  /// Invalid at the first call, where one of the counters cannot be read, and where the call before is so long ago that
  /// one may have begun anew twice: at 2 kW, half a minute on some CPUs.
  EnergyReadings read(std::uint64_t now_ns);

 private:
  /// One counter.
  struct Zone {
    bool dram;
    std::uint64_t range_uj;  // what it counts up to before it begins at 0 again
    SystemFile file;
    std::optional<std::uint64_t> before_uj{};
    std::uint64_t before_ns = 0;

    std::optional<double> watts(std::uint64_t now_ns);
  };
  std::vector<Zone> zones_{};
};

}  // namespace drapps
