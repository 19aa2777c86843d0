#include "drapps/meter/cpu_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "drapps/base/clock.h"
#include "drapps/meter/system_tree_test.h"

namespace drapps {
namespace {

/// Cores that may be asked for; ticks are of a hundredth of a second, as in read().
class CpuMeterTest : public testing::Test {
 protected:
  void SetUp() override {
    if (sysconf(_SC_CLK_TCK) != 100) GTEST_SKIP() << "ticks are not 10 ms here";
    tree.put("/proc/self/status", "Cpus_allowed_list:\t0-1\n");
  }
  /// user nice system idle iowait irq softirq steal …
  void put(const std::string& cores) const {
    tree.put("/proc/stat", "cpu  1 1 1 1 1 1 1 1 0 0\n" + cores + "intr 5\n");
  }

  SystemTree tree;
};

TEST_F(CpuMeterTest, UseIsOfTheCoresOfThisProcess) {
  put("cpu0 0 0 0 0 0 0 0 0 0 0\ncpu1 100 0 0 0 0 0 0 0 0 0\ncpu2 0 0 0 0 0 0 0 0 0 0\n");
  CpuMeter meter(tree.root());
  EXPECT_FALSE(meter.read(kSecondNs).use_mean.valid);
  put("cpu0 10 5 10 50 20 3 2 0 0 0\ncpu1 200 0 0 0 0 0 0 50 0 0\ncpu2 30 0 0 0 0 0 0 0 0 0\n");
  const CpuReadings seen = meter.read(2 * kSecondNs);
  EXPECT_DOUBLE_EQ(seen.use_mean.value, 0.65);
  EXPECT_DOUBLE_EQ(seen.use_max.value, 1);
  EXPECT_DOUBLE_EQ(seen.iowait_mean.value, 0.1);
  EXPECT_DOUBLE_EQ(seen.iowait_max.value, 0.2);
  EXPECT_DOUBLE_EQ(seen.steal_max.value, 0.5);
  EXPECT_NEAR(seen.machine_use.value, 1.6 / 3, 1e-9);
  ASSERT_EQ(meter.cores().size(), 2u);
  EXPECT_EQ(meter.cores()[1].cpu, 1);
  EXPECT_DOUBLE_EQ(meter.cores()[0].use.value, 0.3);
}

TEST_F(CpuMeterTest, ACoreThatWentOfflineIsLeftOutUntilItIsBackForTwoLooks) {
  put("cpu0 0 0 0 0 0 0 0 0\ncpu1 500 0 0 0 0 0 0 0\n");
  CpuMeter meter(tree.root());
  meter.read(kSecondNs);
  put("cpu0 50 0 0 0 0 0 0 0\n");
  EXPECT_DOUBLE_EQ(meter.read(2 * kSecondNs).use_mean.value, 0.5);
  put("cpu0 100 0 0 0 0 0 0 0\ncpu1 20 0 0 0 0 0 0 0\n");
  const CpuReadings back = meter.read(3 * kSecondNs);
  EXPECT_DOUBLE_EQ(back.use_mean.value, 0.5);
  ASSERT_EQ(meter.cores().size(), 2u);
  EXPECT_FALSE(meter.cores()[1].use.valid);
  put("cpu0 150 0 0 0 0 0 0 0\ncpu1 120 0 0 0 0 0 0 0\n");
  EXPECT_DOUBLE_EQ(meter.read(4 * kSecondNs).use_mean.value, 0.75);
}

TEST_F(CpuMeterTest, CountersThatGoBackGiveNoReading) {
  put("cpu0 1000 0 0 0 900 0 0 0\n");
  CpuMeter meter(tree.root());
  meter.read(kSecondNs);
  put("cpu0 1050 0 0 0 10 0 0 0\n");
  const CpuReadings seen = meter.read(2 * kSecondNs);
  EXPECT_DOUBLE_EQ(seen.use_mean.value, 0.5);
  EXPECT_FALSE(seen.iowait_mean.valid);
}

TEST_F(CpuMeterTest, WithoutStealIsRead) {
  put("cpu0 0 0 0 0 0 0 0\n");
  CpuMeter meter(tree.root());
  meter.read(kSecondNs);
  put("cpu0 100 0 0 0 0 0 0\n");
  const CpuReadings seen = meter.read(2 * kSecondNs);
  EXPECT_TRUE(seen.use_mean.valid);
  EXPECT_FALSE(seen.steal_mean.valid);
}

TEST_F(CpuMeterTest, WithNothingReadableAllIsInvalid) {
  CpuMeter meter(tree.root());
  for (std::uint64_t look = 1; look < 4; ++look) {
    for (const Reading& each : list_of(meter.read(look * kSecondNs))) EXPECT_FALSE(each.valid);
  }
  put("cpu0 nonsense\ncpuX 1 2 3\n\n");
  for (const Reading& each : list_of(meter.read(100 * kSecondNs))) EXPECT_FALSE(each.valid);
  EXPECT_TRUE(meter.cores().empty());
}

TEST(CpuMeter, OfThisMachineSeesACoreThatIsBusy) {
  if (access("/proc/stat", R_OK) != 0) GTEST_SKIP() << "there is no /proc/stat here";
  CpuMeter meter;
  meter.read(monotonic_ns());
  CpuReadings seen;
  // Ticks come late on a machine that does much else.
  for (int look = 0; look < 100 && !(seen.use_max.valid && seen.use_max.value > 0); ++look) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
    while (std::chrono::steady_clock::now() < until) {
    }
    seen = meter.read(monotonic_ns());
  }
  ASSERT_TRUE(seen.use_mean.valid);
  EXPECT_GT(seen.use_max.value, 0);
  EXPECT_LE(seen.use_mean.value, seen.use_max.value);
  EXPECT_FALSE(meter.cores().empty());
}

}  // namespace
}  // namespace drapps
