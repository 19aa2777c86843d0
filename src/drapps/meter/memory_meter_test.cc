#include "drapps/meter/memory_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "drapps/base/clock.h"
#include "drapps/meter/system_tree_test.h"

namespace drapps {
namespace {

TEST(MemoryMeter, IsOfTheMachine) {
  const SystemTree tree;
  tree.put("/proc/meminfo",
           "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable: 600 kB\nBuffers: 7 kB\nCached: 300 kB\nSwapCached: 9 "
           "kB\nShmem: 100 kB\n");
  tree.put("/proc/vmstat", "nr_free_pages 5\npswpin 100\npswpout 200\n");
  MemoryMeter meter(tree.root());
  const MemoryReadings first = meter.read(kSecondNs);
  EXPECT_EQ(first.total.value, 1000 * 1024);
  EXPECT_EQ(first.available.value, 600 * 1024);
  EXPECT_EQ(first.cached.value, 200 * 1024);
  EXPECT_FALSE(first.swap_in.valid);
  tree.put("/proc/vmstat", "nr_free_pages 5\npswpin 110\npswpout 20\n");
  const MemoryReadings seen = meter.read(2 * kSecondNs);
  EXPECT_DOUBLE_EQ(seen.swap_in.value, 10.0 * static_cast<double>(sysconf(_SC_PAGESIZE)));
  EXPECT_FALSE(seen.swap_out.valid);  // it went back
}

TEST(MemoryMeter, WithNothingReadableAllIsInvalid) {
  const SystemTree tree;
  MemoryMeter meter(tree.root());
  for (std::uint64_t look = 1; look < 4; ++look) {
    for (const Reading& each : list_of(meter.read(look))) EXPECT_FALSE(each.valid);
  }
}

TEST(MemoryMeter, OfThisMachineHasSomeAvailable) {
  if (access("/proc/meminfo", R_OK) != 0) GTEST_SKIP() << "there is no /proc/meminfo here";
  const MemoryReadings seen = MemoryMeter().read(monotonic_ns());
  ASSERT_TRUE(seen.available.valid);
  EXPECT_GT(seen.available.value, 0);
  EXPECT_LE(seen.available.value, seen.total.value);
}

}  // namespace
}  // namespace drapps
