#include "drapps/control/loader_device.h"

#include <gtest/gtest.h>

namespace drapps {
namespace {

TEST(LoaderDevice, SharesAreThoseOfTheShortestEpoch) {
  // Two cores of 1 ms a sample, of which 0.2 ms are left: the cores alone give 2,000 samples a second.
  const auto share = [](double device) {
    return best_share({.whole = 1e-3, .rest = 0.2e-3, .device = device, .cores = 2});
  };
  EXPECT_EQ(share(0.01e-3), kWeightUnit);  // the device is never what is waited for
  EXPECT_EQ(share(0.45e-3), 6);            // 6/16 of 0.9 ms there, against 10/16 of 0.5 and 6/16 of 0.1 here
  EXPECT_EQ(share(0.05e-3), kWeightUnit);
  EXPECT_LE(share(2e-3), 2);
  EXPECT_EQ(share(20e-3), 0);  // less than 5 % are gained
}

TEST(LoaderDevice, WhereListingCostsWhatDecodingDoesTheDeviceIsLeftAlone) {
  EXPECT_EQ(best_share({.whole = 1e-3, .rest = 1e-3, .device = 1e-6, .cores = 1}), 0);
  EXPECT_EQ(best_share({.whole = 1e-3, .rest = 0.97e-3, .device = 1e-6, .cores = 1}), 0);
  EXPECT_EQ(best_share({.whole = 1e-3, .rest = 0.9e-3, .device = 1e-6, .cores = 1}), kWeightUnit);
}

TEST(LoaderDevice, ItsOptionsAreChecked) {
  EXPECT_EQ(placement_from_json("auto", "cuda:1")->device, "cuda:1");
  EXPECT_EQ(placement_from_json("cpu", {})->mode, PlacementMode::kCpu);
  EXPECT_NE(placement_from_json("tpu", "cuda:1").error().message.find("\"gpu\" or \"auto\""), std::string::npos);
  EXPECT_NE(placement_from_json("gpu", {}).error().message.find("name it by device="), std::string::npos);
}

}  // namespace
}  // namespace drapps
