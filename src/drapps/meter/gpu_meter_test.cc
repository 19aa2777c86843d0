#include "drapps/meter/gpu_meter.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "drapps/base/clock.h"
#include "drapps/meter/nvml_machine_test.h"

namespace drapps {
namespace {

constexpr std::uint64_t kGpuSecond = 1'000'000'000;
constexpr int kNotSupported = 3, kTimeout = 10, kGpuIsLost = 15;

template <class Readings>
int valid_gpu_readings(const Readings& readings) {
  int valid = 0;
  for (const Reading& reading : list_of(readings)) valid += reading.valid ? 1 : 0;
  return valid;
}

class GpuMeterTest : public NvmlTest {
 protected:
  explicit GpuMeterTest(const char* path = NVML_STAND_IN) : NvmlTest(path) {}
  GpuMeter loaded() const { return GpuMeter({.library = library, .environment = environment}); }
  StandInDevice& add_busy_gpu(const char* uuid) {
    StandInDevice& gpu = add_gpu(uuid);
    gpu.percent = 80;
    gpu.total = 1000;
    gpu.used = 250;
    gpu.sm_mhz = 1980;
    gpu.memory_mhz = 2619;
    gpu.milliwatts = 400'500;
    gpu.millijoules = 1'000'000;
    gpu.from_host = 3;
    gpu.to_host = 2;
    return gpu;
  }
};

TEST_F(GpuMeterTest, ReadsADevice) {
  StandInDevice& gpu = add_busy_gpu("GPU-one");
  GpuMeter meter = loaded();
  EXPECT_FALSE(meter.read(1 * kGpuSecond).mean.energy_rate.valid);  // of which this is the first look
  gpu.millijoules += 600'000;
  const auto [mean, max] = meter.read(3 * kGpuSecond);
  EXPECT_EQ(valid_gpu_readings(mean), static_cast<int>(kReadings<GpuReadings>));
  EXPECT_DOUBLE_EQ(mean.use.value, 0.8);
  EXPECT_EQ(mean.use.time_ns, 3 * kGpuSecond);
  EXPECT_DOUBLE_EQ(mean.memory_used.value, 250);
  EXPECT_DOUBLE_EQ(mean.memory_total.value, 1000);
  EXPECT_DOUBLE_EQ(mean.sm_clock.value, 1980);
  EXPECT_DOUBLE_EQ(mean.memory_clock.value, 2619);
  EXPECT_DOUBLE_EQ(mean.power.value, 400.5);
  EXPECT_DOUBLE_EQ(mean.energy_rate.value, 300);
  EXPECT_DOUBLE_EQ(mean.throttled_by_power.value, 0);
  EXPECT_DOUBLE_EQ(max.use.value, 0.8);
  const auto links = meter.read_slow(3 * kGpuSecond);
  EXPECT_DOUBLE_EQ(links.mean.from_host.value, 3 * 1024);
  EXPECT_DOUBLE_EQ(links.mean.to_host.value, 2 * 1024);
}

TEST_F(GpuMeterTest, GivesMeanAndMaximumOfTheDevicesThatAnswer) {
  add_busy_gpu("GPU-one");
  add_busy_gpu("GPU-two").percent = 20;
  StandInDevice& third = add_busy_gpu("GPU-three");
  third.answers[kAskUse] = kTimeout;
  third.from_host = 9;
  GpuMeter meter = loaded();
  const auto [mean, max] = meter.read(kGpuSecond);
  EXPECT_DOUBLE_EQ(mean.use.value, 0.5);
  EXPECT_DOUBLE_EQ(max.use.value, 0.8);
  ASSERT_EQ(meter.devices().size(), 3u);
  EXPECT_DOUBLE_EQ(meter.devices()[1].use.value, 0.2);
  EXPECT_FALSE(meter.devices()[2].use.valid);
  EXPECT_TRUE(meter.devices()[2].power.valid);
  const auto links = meter.read_slow(kGpuSecond);
  EXPECT_DOUBLE_EQ(links.mean.from_host.value, 5 * 1024);
  EXPECT_DOUBLE_EQ(links.max.from_host.value, 9 * 1024);
  EXPECT_DOUBLE_EQ(meter.links()[2].from_host.value, 9 * 1024);
  third.answers[kAskUse] = 0;  // what failed once is asked again
  EXPECT_DOUBLE_EQ(meter.read(2 * kGpuSecond).mean.use.value, 0.6);
}

TEST_F(GpuMeterTest, SaysWhyClocksAreLow) {
  StandInDevice& gpu = add_busy_gpu("GPU-one");
  add_busy_gpu("GPU-two");
  GpuMeter meter = loaded();
  const auto reasons = [&](unsigned long long bits) {
    gpu.reasons = bits;
    const auto [mean, max] = meter.read(kGpuSecond);
    EXPECT_DOUBLE_EQ(mean.throttled_by_power.value, max.throttled_by_power.value / 2);
    return std::string(max.throttled_by_power.value == 1 ? "power " : "") +
           (max.throttled_by_heat.value == 1 ? "heat " : "") + (max.throttled_by_hardware.value == 1 ? "hardware" : "");
  };
  EXPECT_EQ(reasons(0), "");
  EXPECT_EQ(reasons(0x1 | 0x2 | 0x10 | 0x100), "");  // idle, settings, in step with other GPUs
  EXPECT_EQ(reasons(0x4), "power ");
  EXPECT_EQ(reasons(0x8 | 0x80), "power hardware");
  EXPECT_EQ(reasons(0x20), "heat ");
  EXPECT_EQ(reasons(0x8 | 0x40), "heat hardware");
}

TEST_F(GpuMeterTest, LeavesALostDeviceOutForGood) {
  StandInDevice& lost = add_busy_gpu("GPU-one");
  add_busy_gpu("GPU-two").percent = 30;
  GpuMeter meter = loaded();
  EXPECT_DOUBLE_EQ(meter.read(1 * kGpuSecond).mean.use.value, 0.55);
  lost.answers[kAskPower] = kGpuIsLost;  // in the middle of a look
  const auto [mean, max] = meter.read(2 * kGpuSecond);
  EXPECT_DOUBLE_EQ(mean.use.value, 0.3);
  EXPECT_EQ(valid_gpu_readings(meter.devices()[0]), 0);
  lost.answers[kAskPower] = 0;
  lost.answers[kAskPcie] = kGpuIsLost;
  const unsigned before = machine->questions;
  EXPECT_DOUBLE_EQ(meter.read(3 * kGpuSecond).max.use.value, 0.3);
  EXPECT_EQ(machine->questions, before + 7);  // of the other one alone
  const auto links = meter.read_slow(3 * kGpuSecond);
  EXPECT_EQ(valid_gpu_readings(meter.links()[0]), 0);
  EXPECT_DOUBLE_EQ(links.max.from_host.value, 3 * 1024);
}

TEST_F(GpuMeterTest, DoesNotAskAgainWhatADeviceDoesNotHave) {
  StandInDevice& gpu = add_busy_gpu("GPU-one");
  for (int& answer : gpu.answers) answer = kNotSupported;
  GpuMeter meter = loaded();
  EXPECT_EQ(valid_gpu_readings(meter.read(1 * kGpuSecond)), 0);
  EXPECT_EQ(valid_gpu_readings(meter.read_slow(1 * kGpuSecond)), 0);
  const unsigned before = machine->questions;
  EXPECT_EQ(valid_gpu_readings(meter.read(2 * kGpuSecond)), 0);
  EXPECT_EQ(valid_gpu_readings(meter.read_slow(2 * kGpuSecond)), 0);
  EXPECT_EQ(machine->questions, before);
}

TEST_F(GpuMeterTest, HasNoRateOfACounterThatWentBack) {
  StandInDevice& gpu = add_busy_gpu("GPU-one");
  GpuMeter meter = loaded();
  meter.read(1 * kGpuSecond);
  gpu.millijoules = 5;  // the driver was loaded anew
  EXPECT_FALSE(meter.read(2 * kGpuSecond).mean.energy_rate.valid);
  gpu.millijoules = 2'005;
  EXPECT_DOUBLE_EQ(meter.read(3 * kGpuSecond).mean.energy_rate.value, 2);
  gpu.answers[kAskEnergy] = kTimeout;
  EXPECT_FALSE(meter.read(4 * kGpuSecond).mean.energy_rate.valid);
}

TEST_F(GpuMeterTest, ReadsTheDevicesOfThisProcessAlone) {
  add_busy_gpu("GPU-one");
  add_busy_gpu("GPU-two").percent = 10;
  environment.visible_devices = "1";
  GpuMeter meter = loaded();
  EXPECT_DOUBLE_EQ(meter.read(kGpuSecond).max.use.value, 0.1);
  EXPECT_EQ(meter.devices().size(), 1u);
  environment.visible_devices = "";
  EXPECT_EQ(valid_gpu_readings(loaded().read(kGpuSecond)), 0);
}

TEST_F(GpuMeterTest, TakesMemoryFromAnInstanceAndClocksFromItsGpu) {
  StandInDevice& gpu = add_busy_gpu("GPU-one");
  gpu.split = true;
  gpu.answers[kAskUse] = kNotSupported;
  StandInDevice instance;
  instance.uuid = "MIG-one";
  instance.whole = &gpu;
  instance.total = 125;
  for (int& answer : instance.answers) answer = kNotSupported;
  instance.answers[kAskMemory] = 0;
  machine->instances[0] = &instance;
  GpuMeter meter = loaded();
  const auto [mean, max] = meter.read(kGpuSecond);
  EXPECT_FALSE(mean.use.valid);
  EXPECT_DOUBLE_EQ(mean.memory_total.value, 125);
  EXPECT_DOUBLE_EQ(mean.sm_clock.value, 1980);
  EXPECT_DOUBLE_EQ(mean.power.value, 400.5);
}

TEST_F(GpuMeterTest, ReadsNothingWithoutADriverOrADevice) {
  GpuMeter none({.library = "libdrapps-no-such-library.so.1", .environment = environment});
  EXPECT_EQ(valid_gpu_readings(none.read(kGpuSecond)), 0);
  EXPECT_EQ(valid_gpu_readings(none.read_slow(kGpuSecond)), 0);
  EXPECT_TRUE(none.devices().empty());
  EXPECT_EQ(valid_gpu_readings(loaded().read(kGpuSecond)), 0);  // a machine of no GPUs
}

TEST_F(GpuMeterTest, NamesEachReadingOnce) {
  EXPECT_EQ(kGpuInfo.size(), kReadings<GpuReadings>);
  EXPECT_EQ(kGpuSummaryInfo.size(), kReadings<GpuSummary<GpuReadings>>);
  EXPECT_EQ(kGpuLinkInfo.size(), kReadings<GpuLinkReadings>);
  EXPECT_EQ(kGpuLinkSummaryInfo.size(), kReadings<GpuSummary<GpuLinkReadings>>);
  std::set<std::string_view> names;
  for (const auto table : {kGpuInfo, kGpuSummaryInfo, kGpuLinkInfo, kGpuLinkSummaryInfo}) {
    for (const ReadingInfo& info : table) EXPECT_TRUE(names.insert(info.name).second) << info.name;
  }
}

class OldGpuMeterTest : public GpuMeterTest {
 protected:
  OldGpuMeterTest() : GpuMeterTest(NVML_OLD_STAND_IN) {}
};

TEST_F(OldGpuMeterTest, ReadsWhatAnOldDriverHas) {
  add_busy_gpu("GPU-one");
  GpuMeter meter = loaded();
  meter.read(1 * kGpuSecond);
  const auto [mean, max] = meter.read(2 * kGpuSecond);
  EXPECT_EQ(valid_gpu_readings(mean), static_cast<int>(kReadings<GpuReadings>) - 1);
  EXPECT_FALSE(mean.energy_rate.valid);
}

TEST(GpuMeter, OfThisMachineIsPlausible) {
  GpuMeter meter;
  if (meter.devices().empty()) GTEST_SKIP() << "no GPU of NVIDIA's here, or none for this process";
  const auto [mean, max] = meter.read(monotonic_ns());
  EXPECT_TRUE(mean.memory_total.valid);
  EXPECT_LE(max.memory_used.value, max.memory_total.value);
  EXPECT_LE(max.use.value, 1);
  meter.read_slow(monotonic_ns());
}

}  // namespace
}  // namespace drapps
