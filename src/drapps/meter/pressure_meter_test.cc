#include "drapps/meter/pressure_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "drapps/base/clock.h"
#include "drapps/meter/system_tree_test.h"

namespace drapps {
namespace {

std::string pressure_text(int some, int full) {
  const auto line = [](const char* name, int total) {
    return std::string(name) + " avg10=0.02 avg60=0.17 avg300=3.64 total=" + std::to_string(total) + "\n";
  };
  return line("some", some) + line("full", full);
}

TEST(PressureMeter, IsTheShareOfTimeThatTasksStoodStill) {
  const SystemTree tree;
  for (const std::string of : {"cpu", "memory", "io"}) tree.put("/proc/pressure/" + of, pressure_text(1000, 1000));
  PressureMeter meter(tree.root());
  meter.read(kSecondNs);
  tree.put("/proc/pressure/cpu", pressure_text(501'000, 1000));
  tree.put("/proc/pressure/memory", pressure_text(251'000, 126'000));
  tree.put("/proc/pressure/io", pressure_text(2'501'000, 900));
  const PressureReadings seen = meter.read(2 * kSecondNs);
  EXPECT_DOUBLE_EQ(seen.cpu.value, 0.5);
  EXPECT_DOUBLE_EQ(seen.memory.value, 0.25);
  EXPECT_DOUBLE_EQ(seen.memory_full.value, 0.125);
  EXPECT_DOUBLE_EQ(seen.io.value, 1);
  EXPECT_FALSE(seen.io_full.valid);
}

TEST(PressureMeter, WithNothingReadableAllIsInvalid) {
  const SystemTree tree;
  PressureMeter meter(tree.root());
  for (std::uint64_t look = 1; look < 4; ++look) {
    for (const Reading& each : list_of(meter.read(look))) EXPECT_FALSE(each.valid);
  }
}

TEST(PressureMeter, OfThisMachineGivesShares) {
  if (access("/proc/pressure/cpu", R_OK) != 0) GTEST_SKIP() << "this kernel counts no pressure";
  PressureMeter meter;
  meter.read(monotonic_ns());
  usleep(20'000);
  const Reading cpu = meter.read(monotonic_ns()).cpu;
  if (!cpu.valid) GTEST_SKIP() << "this kernel has its count of pressure switched off";
  EXPECT_GE(cpu.value, 0);
  EXPECT_LE(cpu.value, 1);
}

}  // namespace
}  // namespace drapps
