#include "drapps/meter/energy_meter.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <thread>

#include "drapps/base/clock.h"
#include "drapps/meter/system_tree_test.h"

namespace drapps {
namespace {

constexpr std::uint64_t kEnergySecond = 1'000'000'000;
constexpr std::uint64_t kRangeUj = 65'532'610'987;  // of AMD's EPYC

class EnergyMeterTest : public testing::Test {
 protected:
  void put_zone(const std::string& zone, const std::string& name, std::uint64_t energy_uj) const {
    tree.put(folder(zone) + "name", name + "\n");
    tree.put(folder(zone) + "max_energy_range_uj", std::to_string(kRangeUj) + "\n");
    put(zone, energy_uj);
  }
  void put(const std::string& zone, std::uint64_t energy_uj) const {
    tree.put(folder(zone) + "energy_uj", std::to_string(energy_uj) + "\n");
  }
  static std::string folder(const std::string& zone) { return "/sys/class/powercap/" + zone + "/"; }
  const SystemTree tree;
};

TEST_F(EnergyMeterTest, SumsPackagesAndMemoryOfAllSockets) {
  put_zone("intel-rapl:0", "package-0", 1'000'000);
  put_zone("intel-rapl:0:0", "core", 5);
  put_zone("intel-rapl:0:1", "dram", 0);
  put_zone("intel-rapl:1", "package-1", 7'000'000);
  put_zone("intel-rapl:1:0", "dram", 0);
  put_zone("intel-rapl:2", "psys", 0);            // all of the machine, once more
  put_zone("intel-rapl-mmio:0", "package-0", 0);  // a package, once more
  EnergyMeter meter(tree.root());
  const EnergyReadings first = meter.read(1 * kEnergySecond);
  EXPECT_FALSE(first.packages.valid);
  EXPECT_FALSE(first.dram.valid);
  put("intel-rapl:0", 201'000'000);
  put("intel-rapl:0:0", 999'000'000);
  put("intel-rapl:0:1", 10'000'000);
  put("intel-rapl:1", 107'000'000);
  put("intel-rapl:1:0", 20'000'000);
  put("intel-rapl:2", 999'000'000);
  put("intel-rapl-mmio:0", 999'000'000);
  const EnergyReadings second = meter.read(3 * kEnergySecond);
  EXPECT_DOUBLE_EQ(second.packages.value, 150);
  EXPECT_DOUBLE_EQ(second.dram.value, 15);
  EXPECT_TRUE(second.packages.valid && second.dram.valid);
  EXPECT_EQ(second.packages.time_ns, 3 * kEnergySecond);
}

TEST_F(EnergyMeterTest, GoesOnWhereACounterBeginsAnew) {
  put_zone("intel-rapl:0", "package-0", kRangeUj - 30'000'000);
  EnergyMeter meter(tree.root());
  meter.read(1 * kEnergySecond);
  put("intel-rapl:0", 70'000'000);
  EXPECT_DOUBLE_EQ(meter.read(2 * kEnergySecond).packages.value, 100);
  EXPECT_FALSE(meter.read(2 * kEnergySecond).packages.valid);  // no time has passed
}

TEST_F(EnergyMeterTest, DoesNotBelieveACounterThatWasSetBack) {
  put_zone("intel-rapl:0", "package-0", kRangeUj / 2);
  EnergyMeter meter(tree.root());
  meter.read(1 * kEnergySecond);
  put("intel-rapl:0", 1000);  // 33 kW, had it begun anew by itself
  EXPECT_FALSE(meter.read(2 * kEnergySecond).packages.valid);
  put("intel-rapl:0", 50'001'000);
  EXPECT_DOUBLE_EQ(meter.read(3 * kEnergySecond).packages.value, 50);
}

TEST_F(EnergyMeterTest, SaysNothingOfATimeInWhichACounterMayHaveBegunAnewTwice) {
  put_zone("intel-rapl:0", "package-0", 0);
  EnergyMeter meter(tree.root());
  meter.read(1 * kEnergySecond);
  put("intel-rapl:0", 3'200'000'000);
  EXPECT_DOUBLE_EQ(meter.read(33 * kEnergySecond).packages.value, 100);
  put("intel-rapl:0", 6'500'000'000);
  EXPECT_FALSE(meter.read(66 * kEnergySecond).packages.valid);
}

TEST_F(EnergyMeterTest, GivesNoSumWithoutOneOfItsParts) {
  put_zone("intel-rapl:0", "package-0", 0);
  put_zone("intel-rapl:0:0", "dram", 0);
  put_zone("intel-rapl:1", "package-1", 0);
  tree.put(folder("intel-rapl:1") + "energy_uj", "none\n");
  EnergyMeter meter(tree.root());
  meter.read(1 * kEnergySecond);
  const EnergyReadings readings = meter.read(2 * kEnergySecond);
  EXPECT_FALSE(readings.packages.valid);
  EXPECT_EQ(readings.packages.value, 0);
  EXPECT_TRUE(readings.dram.valid);
}

TEST_F(EnergyMeterTest, ReadsNothingThatIsNotThereOrNotForIt) {
  EnergyMeter none(tree.root());
  none.read(1 * kEnergySecond);
  EXPECT_FALSE(none.read(2 * kEnergySecond).packages.valid);
  put_zone("intel-rapl:0", "package-0", 0);
  put_zone("intel-rapl:1", "package-1", 0);
  tree.remove(folder("intel-rapl:0") + "energy_uj");
  tree.remove(folder("intel-rapl:1") + "max_energy_range_uj");
  EnergyMeter meter(tree.root());
  meter.read(1 * kEnergySecond);
  EXPECT_FALSE(meter.read(2 * kEnergySecond).packages.valid);
  EXPECT_FALSE(meter.read(3 * kEnergySecond).dram.valid);
}

TEST(EnergyMeter, OfThisMachineIsPlausible) {
  EnergyMeter meter;
  const std::uint64_t start = monotonic_ns();
  meter.read(start);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const Reading packages = meter.read(monotonic_ns()).packages;
  if (!packages.valid) GTEST_SKIP() << "no counters of energy here, or not for this user";
  EXPECT_GE(packages.value, 0);
  EXPECT_LE(packages.value, 2000.0 * 16);
}

}  // namespace
}  // namespace drapps
