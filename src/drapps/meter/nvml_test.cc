#include "drapps/meter/nvml.h"

#include <gtest/gtest.h>

#include "drapps/meter/nvml_machine_test.h"

namespace drapps {
namespace {

TEST_F(NvmlTest, IsNotThereWithoutALibraryOrADriver) {
  EXPECT_EQ(Nvml::load("libdrapps-no-such-library.so.1"), nullptr);
  EXPECT_EQ(Nvml::load("libc.so.6"), nullptr);  // a library of other functions
  machine->init_answer = 9;                     // NVML_ERROR_DRIVER_NOT_LOADED
  EXPECT_EQ(Nvml::load(library), nullptr);
  machine->init_answer = 0;
  EXPECT_NE(Nvml::load(library), nullptr);
}

TEST_F(NvmlTest, IsStartedOnceAndShutDown) {
  {
    const auto first = Nvml::load(library);
    const auto second = Nvml::load(library);
    EXPECT_EQ(machine->started, 2);
  }
  EXPECT_EQ(machine->started, 0);
  machine->init_answer = 9;
  Nvml::load(library);
  EXPECT_EQ(machine->started, 0);
}

TEST_F(NvmlTest, HasTheDevicesOfTheMachine) {
  add_gpu("GPU-one", "A");
  add_gpu("GPU-two", "B");
  const auto nvml = Nvml::load(library);
  ASSERT_EQ(nvml->device_count(), 2u);
  EXPECT_EQ(nvml->uuid(nvml->device(0)), "GPU-one");
  EXPECT_EQ(nvml->name(nvml->device(1)), "B");
  EXPECT_EQ(nvml->device(2), nullptr);
  EXPECT_EQ(nvml->first_instance(nvml->device(0)), nullptr);
  EXPECT_EQ(nvml->whole(nvml->device(0)), nvml->device(0));
}

TEST_F(NvmlTest, DoesNotTakeATextThatIsLongerThanItsOwn) {
  const std::string name(200, 'x');
  add_gpu("GPU-one", name.c_str());
  const auto nvml = Nvml::load(library);
  EXPECT_EQ(nvml->name(nvml->device(0)), "");
}

TEST_F(NvmlTest, TellsWhatTheDriverSaysOfADevice) {
  StandInDevice& gpu = add_gpu("GPU-one");
  gpu.percent = 42;
  gpu.total = 80ull << 30;
  gpu.reserved = 1ull << 30;
  gpu.used = 5ull << 30;
  gpu.sm_mhz = 1980;
  gpu.memory_mhz = 2619;
  gpu.milliwatts = 123'456;
  gpu.millijoules = 1ull << 40;
  gpu.reasons = kNvmlPowerCap;
  gpu.to_host = 11;
  gpu.from_host = 22;
  const auto nvml = Nvml::load(library);
  NvmlDevice const device = nvml->device(0);
  unsigned number = 0;
  std::uint64_t count = 0;
  NvmlMemory memory;
  EXPECT_EQ(nvml->use(device, number), NvmlResult::kSuccess);
  EXPECT_EQ(number, 42u);
  EXPECT_EQ(nvml->memory(device, memory), NvmlResult::kSuccess);
  EXPECT_EQ(memory.total, 80ull << 30);
  EXPECT_EQ(memory.used, 5ull << 30);
  EXPECT_EQ(nvml->clock(device, NvmlClock::kSm, number), NvmlResult::kSuccess);
  EXPECT_EQ(number, 1980u);
  EXPECT_EQ(nvml->clock(device, NvmlClock::kMemory, number), NvmlResult::kSuccess);
  EXPECT_EQ(number, 2619u);
  EXPECT_EQ(nvml->power(device, number), NvmlResult::kSuccess);
  EXPECT_EQ(number, 123'456u);
  EXPECT_EQ(nvml->energy(device, count), NvmlResult::kSuccess);
  EXPECT_EQ(count, 1ull << 40);
  EXPECT_EQ(nvml->throttle_reasons(device, count), NvmlResult::kSuccess);
  EXPECT_EQ(count, kNvmlPowerCap);
  EXPECT_EQ(nvml->pcie(device, NvmlDirection::kToHost, number), NvmlResult::kSuccess);
  EXPECT_EQ(number, 11u);
  EXPECT_EQ(nvml->pcie(device, NvmlDirection::kFromHost, number), NvmlResult::kSuccess);
  EXPECT_EQ(number, 22u);
  gpu.answers[kAskPower] = 15;
  EXPECT_EQ(nvml->power(device, number), NvmlResult::kGpuIsLost);
}

class OldNvmlTest : public NvmlTest {
 protected:
  OldNvmlTest() : NvmlTest(NVML_OLD_STAND_IN) {}
};

TEST_F(OldNvmlTest, SaysWhichFunctionsItLacks) {
  StandInDevice& gpu = add_gpu("GPU-one");
  gpu.split = true;
  gpu.total = 8ull << 30;
  gpu.reserved = 1ull << 30;
  gpu.used = 5ull << 30;
  gpu.reasons = kNvmlThermalSlowdown;
  const auto nvml = Nvml::load(library);
  NvmlDevice const device = nvml->device(0);
  std::uint64_t count = 0;
  NvmlMemory memory;
  EXPECT_EQ(nvml->memory(device, memory), NvmlResult::kSuccess);
  EXPECT_EQ(memory.used, 6ull << 30);
  EXPECT_EQ(nvml->throttle_reasons(device, count), NvmlResult::kSuccess);
  EXPECT_EQ(count, kNvmlThermalSlowdown);
  EXPECT_EQ(nvml->energy(device, count), NvmlResult::kFunctionNotFound);
  EXPECT_EQ(nvml->first_instance(device), nullptr);
  EXPECT_EQ(nvml->whole(device), device);
  EXPECT_EQ(nvml->device_by_uuid("GPU-one"), nullptr);
}

TEST(Nvml, OfThisMachineNamesItsDevices) {
  const auto nvml = Nvml::load();
  if (!nvml) GTEST_SKIP() << "no driver of NVIDIA's here";
  for (unsigned index = 0; index < nvml->device_count(); ++index) {
    if (NvmlDevice const device = nvml->device(index)) {
      EXPECT_TRUE(nvml->uuid(device).starts_with("GPU-"));
      EXPECT_FALSE(nvml->name(device).empty());
    }
  }
}

}  // namespace
}  // namespace drapps
