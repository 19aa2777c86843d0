#include "drapps/meter/cgroup_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "drapps/base/clock.h"
#include "drapps/meter/system_tree_test.h"

namespace drapps {
namespace {

/// A job in a group of v2 below one with limits.
class CgroupMeterTest : public testing::Test {
 protected:
  void mount_v2(const std::string& group) const {
    tree.put("/proc/self/cgroup", "0::" + group + "\n");
    tree.put("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
  }
  void put_cpu(const std::string& group, int periods, int throttled, int usec) const {
    tree.put("/sys/fs/cgroup" + group + "/cpu.stat", "usage_usec 5\nnr_periods " + std::to_string(periods) +
                                                         "\nnr_throttled " + std::to_string(throttled) +
                                                         "\nthrottled_usec " + std::to_string(usec) + "\n");
  }
  void put_memory(const std::string& group, const std::string& used, const std::string& limit, int max) const {
    const std::string folder = "/sys/fs/cgroup" + group;
    tree.put(folder + "/memory.current", used + "\n");
    tree.put(folder + "/memory.max", limit + "\n");
    tree.put(folder + "/memory.events", "low 0\nhigh 2\nmax " + std::to_string(max) + "\noom 0\noom_kill 0\n");
  }

  SystemTree tree;
};

TEST_F(CgroupMeterTest, TheGroupThatHoldsBackMostIsTold) {
  mount_v2("/pod/job");
  put_cpu("/pod/job", 100, 10, 1'000'000);
  put_cpu("/pod", 100, 0, 0);
  put_memory("/pod/job", "1000", "max", 0);
  put_memory("/pod", "5000", "8000", 7);
  tree.put("/sys/fs/cgroup/pod/job/memory.pressure", "some avg10=0 avg60=0 avg300=0 total=0\n");
  CgroupMeter meter(tree.root());
  const CgroupReadings first = meter.read(kSecondNs);
  EXPECT_FALSE(first.throttled.valid);
  EXPECT_EQ(first.memory_used.value, 5000);
  EXPECT_EQ(first.memory_limit.value, 8000);
  put_cpu("/pod/job", 110, 15, 1'250'000);
  put_cpu("/pod", 110, 0, 0);
  put_memory("/pod", "5000", "8000", 47);
  tree.put("/sys/fs/cgroup/pod/job/memory.pressure", "some avg10=0 avg60=0 avg300=0 total=100000\n");
  const CgroupReadings seen = meter.read(2 * kSecondNs);
  EXPECT_DOUBLE_EQ(seen.throttled.value, 0.25);
  EXPECT_DOUBLE_EQ(seen.throttled_periods.value, 0.5);
  EXPECT_DOUBLE_EQ(seen.memory_hits.value, 40);
  EXPECT_DOUBLE_EQ(seen.memory_kills.value, 0);
  EXPECT_DOUBLE_EQ(seen.memory_pressure.value, 0.1);
  EXPECT_FALSE(seen.cpu_pressure.valid);
}

TEST_F(CgroupMeterTest, AProcessThatWasMovedIsCountedAnew) {
  mount_v2("/a");
  put_cpu("/a", 100, 100, 9'000'000);
  put_cpu("/b", 900, 900, 90'000'000);
  put_memory("/b", "70", "100", 0);
  CgroupMeter meter(tree.root());
  meter.read(kSecondNs);
  mount_v2("/b");
  const CgroupReadings moved = meter.read(2 * kSecondNs);
  EXPECT_FALSE(moved.throttled.valid);
  EXPECT_FALSE(moved.throttled_periods.valid);
  EXPECT_EQ(moved.memory_limit.value, 100);
  put_cpu("/b", 910, 901, 90'500'000);
  const CgroupReadings seen = meter.read(3 * kSecondNs);
  EXPECT_DOUBLE_EQ(seen.throttled.value, 0.5);
  EXPECT_DOUBLE_EQ(seen.throttled_periods.value, 0.1);
  // Back again: what /a has counted meanwhile is no rate of the last second.
  mount_v2("/a");
  EXPECT_FALSE(meter.read(4 * kSecondNs).throttled.valid);
}

TEST_F(CgroupMeterTest, CountersThatGoBackGiveNoReading) {
  mount_v2("/a");
  put_cpu("/a", 100, 100, 9'000'000);
  CgroupMeter meter(tree.root());
  meter.read(kSecondNs);
  put_cpu("/a", 5, 1, 1000);
  const CgroupReadings seen = meter.read(2 * kSecondNs);
  EXPECT_FALSE(seen.throttled.valid);
  EXPECT_FALSE(seen.throttled_periods.valid);
}

TEST_F(CgroupMeterTest, VersionOneIsReadByItsOwnNames) {
  tree.put("/proc/self/cgroup", "4:cpu,cpuacct:/job\n3:memory:/job\n1:name=systemd:/user.slice\n0::/\n");
  tree.put("/proc/self/mountinfo",
           "31 30 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n"
           "32 30 0:28 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
  const std::string cpu = "/sys/fs/cgroup/cpu/job/cpu.stat";
  const std::string memory = "/sys/fs/cgroup/memory/job/memory.";
  tree.put(cpu, "nr_periods 0\nnr_throttled 0\nthrottled_time 0\n");
  tree.put(memory + "usage_in_bytes", "123\n");
  tree.put(memory + "limit_in_bytes", "9223372036854771712\n");
  tree.put(memory + "failcnt", "4\n");
  tree.put(memory + "oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
  const std::string above = "/sys/fs/cgroup/memory/memory.";  // of the groups of others, too
  tree.put(above + "usage_in_bytes", "100000\n");
  tree.put(above + "limit_in_bytes", "9223372036854771712\n");
  tree.put(above + "oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 7\n");
  CgroupMeter meter(tree.root());
  const CgroupReadings first = meter.read(kSecondNs);
  EXPECT_EQ(first.memory_used.value, 123);
  EXPECT_FALSE(first.memory_limit.valid);
  tree.put(cpu, "nr_periods 10\nnr_throttled 4\nthrottled_time 500000000\n");
  tree.put(memory + "limit_in_bytes", "1000\n");
  tree.put(memory + "failcnt", "9\n");
  tree.put(memory + "oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n");
  tree.put(above + "oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 70\n");
  const CgroupReadings seen = meter.read(2 * kSecondNs);
  EXPECT_DOUBLE_EQ(seen.throttled.value, 0.5);
  EXPECT_DOUBLE_EQ(seen.throttled_periods.value, 0.4);
  EXPECT_EQ(seen.memory_limit.value, 1000);
  EXPECT_DOUBLE_EQ(seen.memory_hits.value, 5);
  EXPECT_DOUBLE_EQ(seen.memory_kills.value, 1);
}

TEST_F(CgroupMeterTest, WithNothingReadableAllIsInvalid) {
  CgroupMeter nothing(tree.root());
  for (std::uint64_t look = 1; look < 4; ++look) {
    for (const Reading& each : list_of(nothing.read(look * kSecondNs))) EXPECT_FALSE(each.valid);
  }
  mount_v2("/gone");
  CgroupMeter meter(tree.root());
  for (std::uint64_t look = 1; look < 4; ++look) {
    for (const Reading& each : list_of(meter.read(look * kSecondNs))) EXPECT_FALSE(each.valid);
  }
}

TEST(CgroupMeter, OfThisMachineGivesNoNegativeNumber) {
  if (access("/proc/self/cgroup", R_OK) != 0) GTEST_SKIP() << "there is no /proc/self/cgroup here";
  CgroupMeter meter;
  meter.read(monotonic_ns());
  usleep(10'000);
  for (const Reading& each : list_of(meter.read(monotonic_ns()))) EXPECT_GE(each.value, 0);
}

}  // namespace
}  // namespace drapps
