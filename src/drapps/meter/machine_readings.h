// The readings of all meters together.
#pragma once

#include <array>
#include <bit>
#include <cstddef>

#include "drapps/meter/cgroup_meter.h"
#include "drapps/meter/cpu_meter.h"
#include "drapps/meter/disk_meter.h"
#include "drapps/meter/energy_meter.h"
#include "drapps/meter/gpu_meter.h"
#include "drapps/meter/memory_meter.h"
#include "drapps/meter/network_meter.h"
#include "drapps/meter/pressure_meter.h"
#include "drapps/meter/reading.h"
#include "drapps/meter/residency_meter.h"
#include "drapps/meter/task_meter.h"

namespace drapps {

struct MachineReadings {
  CpuReadings cpu;
  TaskReadings tasks;
  CgroupReadings cgroup;
  PressureReadings pressure;
  MemoryReadings memory;
  DiskReadings disk;
  NetworkReadings network;
  EnergyReadings energy;
  GpuSummary<GpuReadings> gpu;
  GpuSummary<GpuLinkReadings> gpu_link;
  ResidencyReadings residency;
};

inline constexpr std::size_t kMachineReadings = kReadings<MachineReadings>;

/// What describes each of the readings, in their order; made once.
const std::array<ReadingInfo, kMachineReadings>& machine_info();

/// The value of each of these readings is its place in the list: kPlaces.cpu.use_mean.
inline constexpr MachineReadings kPlaces = [] {
  std::array<Reading, kMachineReadings> places{};
  for (std::size_t i = 0; i < places.size(); ++i) places[i].value = static_cast<double>(i);
  return std::bit_cast<MachineReadings>(places);
}();

constexpr std::size_t place_of(const Reading& of_places) noexcept { return static_cast<std::size_t>(of_places.value); }

}  // namespace drapps
