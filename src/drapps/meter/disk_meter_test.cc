#include "drapps/meter/disk_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "drapps/base/clock.h"
#include "drapps/meter/system_tree_test.h"

namespace drapps {
namespace {

std::string disk_line(const std::string& name, int reads, int sectors, int reading_ms, int written, int busy_ms,
                      int weighted_ms) {
  const auto text = [](int number) { return std::to_string(number) + " "; };
  return "   " + name + " " + text(reads) + "0 " + text(sectors) + text(reading_ms) + "0 0 " + text(written) + "0 0 " +
         text(busy_ms) + text(weighted_ms) + "0 0 0 0\n";
}

/// A disk with two partitions, on one of which the data lie, and a disk beside it.
class DiskMeterTest : public testing::Test {
 protected:
  void SetUp() override {
    for (const std::string disk : {"sda", "sdb", "dm-0"}) tree.put("/sys/block/" + disk + "/size", "1");
    tree.put("/proc/self/mountinfo",
             "27 1 8:1 / / rw - ext4 /dev/sda1 rw\n28 27 8:2 / /data rw - ext4 /dev/sda2 rw\n"
             "29 27 0:50 / /net rw - nfs4 server:/x rw\n");
  }

  SystemTree tree;
};

TEST_F(DiskMeterTest, TheDevicesOfTheDataAndAllDisksAreTold) {
  const std::vector<std::string> paths{"/data/photos", "/net/more"};
  DiskMeter meter(tree.root());
  meter.set_data(paths);
  tree.put("/proc/diskstats", disk_line("8 0 sda", 0, 0, 0, 0, 0, 0) + disk_line("8 1 sda1", 0, 0, 0, 0, 0, 0) +
                                  disk_line("8 2 sda2", 0, 0, 0, 0, 0, 0) + disk_line("8 16 sdb", 0, 0, 0, 0, 0, 0) +
                                  disk_line("253 0 dm-0", 0, 0, 0, 0, 0, 0));
  EXPECT_FALSE(meter.read(kSecondNs).data_read.valid);
  tree.put("/proc/diskstats",
           disk_line("8 0 sda", 30, 3000, 90, 50, 250, 0) + disk_line("8 1 sda1", 20, 2000, 9, 9, 9, 9) +
               disk_line("8 2 sda2", 10, 1000, 80, 20, 200, 1500) + disk_line("8 16 sdb", 1, 500, 1, 7, 900, 0) +
               disk_line("253 0 dm-0", 10, 9999, 0, 0, 990, 0));
  const DiskReadings seen = meter.read(2 * kSecondNs);
  EXPECT_DOUBLE_EQ(seen.data_read.value, 1000 * 512);
  EXPECT_DOUBLE_EQ(seen.data_written.value, 20 * 512);
  EXPECT_DOUBLE_EQ(seen.data_busy.value, 0.2);
  EXPECT_DOUBLE_EQ(seen.data_queue.value, 1.5);
  EXPECT_DOUBLE_EQ(seen.data_read_time.value, 0.008);
  EXPECT_DOUBLE_EQ(seen.all_read.value, 3500 * 512);
  EXPECT_DOUBLE_EQ(seen.all_written.value, 57 * 512);
  EXPECT_DOUBLE_EQ(seen.all_busy_max.value, 0.9);
  ASSERT_EQ(meter.devices().size(), 3u);
  EXPECT_EQ(meter.devices()[1].name, "sda2");
  EXPECT_TRUE(meter.devices()[1].data);
  EXPECT_FALSE(meter.devices()[2].data);
}

TEST_F(DiskMeterTest, AnExchangedDeviceAndCountersThatWrapGiveNoNegativeRate) {
  const std::vector<std::string> paths{"/data"};
  DiskMeter meter(tree.root());
  meter.set_data(paths);
  tree.put("/proc/diskstats", disk_line("8 2 sda2", 100, 5000, 80, 20, 4'000'000, 1500));
  meter.read(kSecondNs);
  tree.put("/proc/diskstats", disk_line("8 2 sda2", 110, 40, 90, 30, 100, 1600));
  const DiskReadings seen = meter.read(2 * kSecondNs);
  EXPECT_FALSE(seen.data_read.valid);
  EXPECT_FALSE(seen.data_busy.valid);
  EXPECT_DOUBLE_EQ(seen.data_written.value, 10 * 512);
  tree.put("/proc/diskstats", "");
  EXPECT_FALSE(meter.read(3 * kSecondNs).data_written.valid);
  tree.put("/proc/diskstats", disk_line("8 2 sda2", 900, 9000, 900, 900, 900, 9000));
  EXPECT_FALSE(meter.read(4 * kSecondNs).data_written.valid);
}

TEST_F(DiskMeterTest, DataWithoutABlockDeviceHaveNone) {
  const std::vector<std::string> paths{"/net/more"};
  DiskMeter meter(tree.root());
  meter.set_data(paths);
  tree.put("/proc/diskstats", disk_line("8 0 sda", 0, 0, 0, 0, 0, 0));
  meter.read(kSecondNs);
  const DiskReadings seen = meter.read(2 * kSecondNs);
  EXPECT_FALSE(seen.data_read.valid);
  EXPECT_TRUE(seen.all_read.valid);
}

TEST(DiskMeter, WithNothingReadableAllIsInvalid) {
  const SystemTree tree;
  const std::vector<std::string> paths{"/data"};
  DiskMeter meter(tree.root());
  meter.set_data(paths);
  for (std::uint64_t look = 1; look < 4; ++look) {
    for (const Reading& each : list_of(meter.read(look))) EXPECT_FALSE(each.valid);
  }
  tree.put("/proc/diskstats", "nonsense\n8 0\n\n");
  for (const Reading& each : list_of(meter.read(100 * kSecondNs))) EXPECT_FALSE(each.valid);
}

TEST(DiskMeter, OfThisMachineGivesNoNegativeNumber) {
  if (access("/proc/diskstats", R_OK) != 0) GTEST_SKIP() << "there is no /proc/diskstats here";
  const std::vector<std::string> paths{"/"};
  DiskMeter meter;
  meter.set_data(paths);
  meter.read(monotonic_ns());
  usleep(10'000);
  for (const Reading& each : list_of(meter.read(monotonic_ns()))) EXPECT_GE(each.value, 0);
}

}  // namespace
}  // namespace drapps
