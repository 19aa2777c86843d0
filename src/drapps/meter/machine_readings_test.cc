#include "drapps/meter/machine_readings.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace drapps {
namespace {

TEST(MachineReadings, EachHasANameOfItsOwnAUnitAndASource) {
  std::set<std::string_view> names;
  for (const ReadingInfo& info : machine_info()) {
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_FALSE(info.unit.empty()) << info.name;
    EXPECT_FALSE(info.source.empty()) << info.name;
  }
}

TEST(MachineReadings, PlacesAreThoseOfTheNames) {
  const auto name = [](const Reading& of_places) { return machine_info()[place_of(of_places)].name; };
  EXPECT_EQ(name(kPlaces.cpu.use_mean), "cpu.use_mean");
  EXPECT_EQ(name(kPlaces.tasks.processes_wait), "processes.wait");
  EXPECT_EQ(name(kPlaces.cgroup.io_pressure), "cgroup.io_pressure");
  EXPECT_EQ(name(kPlaces.pressure.io_full), "pressure.io_full");
  EXPECT_EQ(name(kPlaces.memory.swap_out), "memory.swap_out");
  EXPECT_EQ(name(kPlaces.disk.all_busy_max), "disk.all_busy_max");
  EXPECT_EQ(name(kPlaces.network.drops), "network.drops");
  EXPECT_EQ(name(kPlaces.energy.dram), "energy.dram");
  EXPECT_EQ(name(kPlaces.gpu.mean.use), "gpu.use_mean");
  EXPECT_EQ(name(kPlaces.gpu.max.memory_used), "gpu.memory_used_max");
  EXPECT_EQ(name(kPlaces.gpu_link.max.to_host), "gpu.to_host_max");
  EXPECT_EQ(name(kPlaces.residency.resident), "residency.resident");
}

}  // namespace
}  // namespace drapps
