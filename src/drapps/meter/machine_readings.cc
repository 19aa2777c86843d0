#include "drapps/meter/machine_readings.h"

#include <algorithm>
#include <span>

namespace drapps {

const std::array<ReadingInfo, kMachineReadings>& machine_info() {
  static const std::array<ReadingInfo, kMachineReadings> all = [] {
    const std::span<const ReadingInfo> tables[] = {kCpuInfo,        kTaskInfo,           kCgroupInfo,   kPressureInfo,
                                                   kMemoryInfo,     kDiskInfo,           kNetworkInfo,  kEnergyInfo,
                                                   kGpuSummaryInfo, kGpuLinkSummaryInfo, kResidencyInfo};
    std::array<ReadingInfo, kMachineReadings> infos;
    auto* next = infos.data();
    for (const auto& table : tables) next = std::copy(table.begin(), table.end(), next);
    return infos;
  }();
  return all;
}

}  // namespace drapps
