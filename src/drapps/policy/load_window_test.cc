#include "drapps/policy/load_window.h"

#include <gtest/gtest.h>

namespace drapps {
namespace {

constexpr std::uint64_t kLoadSecond = 1'000'000'000;

/// After so many seconds, of which the device worked half.
Observation load_after(std::uint64_t seconds) {
  Observation seen{.time_ns = kLoadSecond * (1 + seconds)};
  seen.consumer.step.sum = seconds * kLoadSecond;
  seen.device.copy_ns = seconds * kLoadSecond / 8;
  seen.device.kernel_ns = seconds * kLoadSecond * 3 / 8;
  return seen;
}

Limits limits_with_device() {
  Limits limits;
  limits[KnobId::kDecodeOnGpu] = {0, kWeightUnit};
  return limits;
}

TEST(LoadWindow, ByItsEventsADeviceIsAsBusyAsTheLoaderMakesIt) {
  LoadWindow window;
  EXPECT_FALSE(window.next(load_after(0), limits_with_device()).known);
  const Load load = window.next(load_after(2), limits_with_device());
  EXPECT_TRUE(load.known);
  EXPECT_TRUE(load.gpu_known);
  EXPECT_DOUBLE_EQ(load.gpu, 0.5);
  Observation idle = load_after(4);
  idle.device = load_after(2).device;
  EXPECT_DOUBLE_EQ(window.next(idle, limits_with_device()).gpu, 0);
}

TEST(LoadWindow, AMeterKnowsWhatOthersDoThere) {
  LoadWindow window;
  window.next(load_after(0), limits_with_device());
  Observation seen = load_after(2);
  MachineReadings readings{};
  readings.gpu.mean.use = reading(0.75, seen.time_ns);
  seen.meters = observation_of(readings, seen.time_ns);
  EXPECT_DOUBLE_EQ(window.next(seen, limits_with_device()).gpu, 0.75);
}

TEST(LoadWindow, WithoutADeviceThatPreparesNothingIsKnownOfOne) {
  LoadWindow window;
  window.next(load_after(0), {});
  EXPECT_FALSE(window.next(load_after(2), {}).gpu_known);
}

}  // namespace
}  // namespace drapps
