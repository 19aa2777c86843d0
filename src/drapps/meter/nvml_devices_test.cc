#include "drapps/meter/nvml_devices.h"

#include <gtest/gtest.h>

#include "drapps/meter/nvml_machine_test.h"

namespace drapps {
namespace {

class VisibleGpusTest : public NvmlTest {
 protected:
  VisibleGpusTest() {
    add_gpu("GPU-aaaa-1");
    add_gpu("GPU-aabb-2");
    add_gpu("GPU-cccc-3");
  }
  /// The UUIDs, with a space behind each; of what an instance belongs to, too.
  std::string visible(const char* devices = nullptr) {
    if (devices != nullptr) environment.visible_devices = devices;
    const auto nvml = Nvml::load(library);
    std::string text;
    for (const GpuDevice& gpu : visible_gpus(*nvml, environment)) {
      text += nvml->uuid(gpu.device) + " ";
      if (gpu.whole != gpu.device) text += "of " + nvml->uuid(gpu.whole) + " ";
    }
    return text;
  }
  void split_first_gpu() {
    machine->gpus[0].split = true;
    for (StandInDevice* instance : {&one, &two}) instance->whole = &machine->gpus[0];
    one.uuid = "MIG-one";
    two.uuid = "MIG-two";
    machine->instances[1] = &one;
    machine->instances[3] = &two;
  }
  StandInDevice one, two;
};

TEST_F(VisibleGpusTest, AreAllWhereNothingIsSet) { EXPECT_EQ(visible(), "GPU-aaaa-1 GPU-aabb-2 GPU-cccc-3 "); }

TEST_F(VisibleGpusTest, AreNoneOfAnEmptyList) {
  EXPECT_EQ(visible(""), "");
  EXPECT_EQ(visible(" "), "");
  EXPECT_EQ(visible("-1"), "");
  EXPECT_EQ(visible("NoDevFiles"), "");
}

TEST_F(VisibleGpusTest, AreThoseOfTheListInItsOrder) {
  EXPECT_EQ(visible("2,0"), "GPU-cccc-3 GPU-aaaa-1 ");
  EXPECT_EQ(visible(" 1 , 2 "), "GPU-aabb-2 GPU-cccc-3 ");
  EXPECT_EQ(visible("1,1"), "GPU-aabb-2 ");
}

TEST_F(VisibleGpusTest, EndWhereTheListNamesNoDevice) {
  EXPECT_EQ(visible("1,-1,2"), "GPU-aabb-2 ");
  EXPECT_EQ(visible("1,3,2"), "GPU-aabb-2 ");
  EXPECT_EQ(visible("1,,2"), "GPU-aabb-2 ");
  EXPECT_EQ(visible("1,2x"), "GPU-aabb-2 ");
  EXPECT_EQ(visible("99999999999999999999"), "");
}

TEST_F(VisibleGpusTest, AreNamedByTheStartOfTheirUuids) {
  EXPECT_EQ(visible("GPU-cccc-3,GPU-aab"), "GPU-cccc-3 GPU-aabb-2 ");
  EXPECT_EQ(visible("GPU-aa"), "");  // two
  EXPECT_EQ(visible("GPU-dd,0"), "");
}

TEST_F(VisibleGpusTest, AreUnknownByIndexWhereModelsDifferAndTheOrderIsNotSet) {
  machine->gpus[1].name = "Other";
  EXPECT_EQ(visible(), "GPU-aaaa-1 GPU-aabb-2 GPU-cccc-3 ");
  EXPECT_EQ(visible("1"), "");
  EXPECT_EQ(visible("GPU-aabb-2"), "GPU-aabb-2 ");
  environment.device_order = "FASTEST_FIRST";
  EXPECT_EQ(visible("1"), "");
  environment.device_order = "PCI_BUS_ID";
  EXPECT_EQ(visible("1"), "GPU-aabb-2 ");
}

TEST_F(VisibleGpusTest, MayBeInstancesOfAGpu) {
  split_first_gpu();
  EXPECT_EQ(visible("MIG-two"), "MIG-two of GPU-aaaa-1 ");
  EXPECT_EQ(visible("MIG-three"), "");
}

TEST_F(VisibleGpusTest, AreTheFirstInstanceOfAGpuThatIsSplit) {
  split_first_gpu();
  EXPECT_EQ(visible(), "MIG-one of GPU-aaaa-1 GPU-aabb-2 GPU-cccc-3 ");
  EXPECT_EQ(visible("0"), "MIG-one of GPU-aaaa-1 ");
  machine->gpus[0].split = false;  // its instances are what another mode has left
  EXPECT_EQ(visible("0"), "GPU-aaaa-1 ");
  machine->gpus[0].split = true;
  machine->instances[1] = machine->instances[3] = nullptr;
  EXPECT_EQ(visible("0"), "GPU-aaaa-1 ");
}

}  // namespace
}  // namespace drapps
