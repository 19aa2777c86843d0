#include "drapps/plant/meter_observation.h"

#include <gtest/gtest.h>

#include <bit>
#include <limits>

namespace drapps {
namespace {

constexpr std::uint64_t kAtNs = 100'000'000'000;

TEST(MeterObservation, HoldsReadingsInWholeUnits) {
  MachineReadings readings{};
  readings.cpu.use_mean = reading(0.25, kAtNs);
  readings.memory.available = reading(5e9, kAtNs);
  readings.residency.resident = reading(1, kAtNs - 9'000'000'000);
  const MeterObservation seen = observation_of(readings, kAtNs);
  EXPECT_EQ(seen.values[place_of(kPlaces.cpu.use_mean)], 250'000u);
  EXPECT_EQ(whole_unit("share").unit, "ppm");
  EXPECT_DOUBLE_EQ(seen.value(place_of(kPlaces.cpu.use_mean)), 0.25);
  EXPECT_DOUBLE_EQ(seen.value(place_of(kPlaces.memory.available)), 5e9);
  EXPECT_TRUE(seen.has(place_of(kPlaces.residency.resident)));
  int valid = 0;
  for (const std::uint64_t mask : seen.valid) valid += std::popcount(mask);
  EXPECT_EQ(valid, 3);
}

TEST(MeterObservation, WhatIsInvalidOldOrNoNumberIsNotThere) {
  MachineReadings readings{};
  readings.cpu.use_mean = {.value = 0.5, .time_ns = kAtNs, .valid = false};
  readings.gpu.max.use = reading(0.5, kAtNs - 11'000'000'000);
  readings.disk.all_read = reading(std::numeric_limits<double>::quiet_NaN(), kAtNs);
  readings.disk.all_written = reading(-1, kAtNs);
  const MeterObservation seen = observation_of(readings, kAtNs);
  for (std::size_t place = 0; place < kMachineReadings; ++place) {
    EXPECT_FALSE(seen.has(place)) << machine_info()[place].name;
    EXPECT_EQ(seen.values[place], 0u);
  }
  readings.disk.all_read = reading(std::numeric_limits<double>::infinity(), kAtNs);
  EXPECT_GT(observation_of(readings, kAtNs).value(place_of(kPlaces.disk.all_read)), 1e17);
}

}  // namespace
}  // namespace drapps
