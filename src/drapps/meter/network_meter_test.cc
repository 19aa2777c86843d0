#include "drapps/meter/network_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "drapps/base/clock.h"
#include "drapps/meter/system_tree_test.h"

namespace drapps {
namespace {

constexpr const char* kHead =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier "
    "compressed\n";

std::string interface_line(const std::string& name, std::uint64_t received, int errors, int drops, int sent) {
  return name + ": " + std::to_string(received) + "  5 " + std::to_string(errors) + " " + std::to_string(drops) +
         " 0 0 0 0 " + std::to_string(sent) + " 5 1 1 0 0 0 0\n";
}

TEST(NetworkMeter, SumsAllInterfacesButLo) {
  const SystemTree tree;
  const std::string file = "/proc/net/dev";
  tree.put(file, kHead + interface_line("    lo", 0, 0, 0, 0) + interface_line("  eth0", 0, 0, 0, 0) +
                     interface_line("veth1:2", 500, 0, 0, 0));
  NetworkMeter meter(tree.root());
  EXPECT_FALSE(meter.read(kSecondNs).received.valid);
  tree.put(file, kHead + interface_line("    lo", 9999, 9, 9, 9999) + interface_line("  eth0", 1000, 2, 3, 40) +
                     interface_line("veth1:2", 600, 0, 0, 2) + interface_line("eth1", 1'000'000, 0, 0, 0));
  const NetworkReadings seen = meter.read(2 * kSecondNs);
  EXPECT_DOUBLE_EQ(seen.received.value, 1100);  // one that is new counts from the second look on
  EXPECT_DOUBLE_EQ(seen.sent.value, 42);
  EXPECT_DOUBLE_EQ(seen.errors.value, 2);
  EXPECT_DOUBLE_EQ(seen.drops.value, 3);
  ASSERT_EQ(meter.interfaces().size(), 3u);
  EXPECT_EQ(meter.interfaces()[1].name, "veth1:2");
  EXPECT_FALSE(meter.interfaces()[2].rates.received.valid);
}

TEST(NetworkMeter, ACounterThatWrapsGivesNoNegativeRate) {
  const SystemTree tree;
  tree.put("/proc/net/dev", kHead + interface_line("eth0", 4'294'967'000, 0, 0, 10));
  NetworkMeter meter(tree.root());
  meter.read(kSecondNs);
  tree.put("/proc/net/dev", kHead + interface_line("eth0", 500, 0, 0, 20));
  const NetworkReadings seen = meter.read(2 * kSecondNs);
  EXPECT_FALSE(seen.received.valid);
  EXPECT_DOUBLE_EQ(seen.sent.value, 10);
}

TEST(NetworkMeter, WithNothingReadableAllIsInvalid) {
  const SystemTree tree;
  NetworkMeter meter(tree.root());
  for (std::uint64_t look = 1; look < 4; ++look) {
    for (const Reading& each : list_of(meter.read(look))) EXPECT_FALSE(each.valid);
  }
  tree.put("/proc/net/dev", "eth0: 5\nnonsense\n");
  for (const Reading& each : list_of(meter.read(100 * kSecondNs))) EXPECT_FALSE(each.valid);
}

TEST(NetworkMeter, OfThisMachineGivesNoNegativeNumber) {
  if (access("/proc/net/dev", R_OK) != 0) GTEST_SKIP() << "there is no /proc/net/dev here";
  NetworkMeter meter;
  meter.read(monotonic_ns());
  usleep(10'000);
  for (const Reading& each : list_of(meter.read(monotonic_ns()))) EXPECT_GE(each.value, 0);
}

}  // namespace
}  // namespace drapps
