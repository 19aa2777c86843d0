#include "drapps/meter/task_meter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

#include "drapps/base/clock.h"
#include "drapps/meter/system_tree_test.h"

namespace drapps {
namespace {

std::string task_stat(int pid, int user, int system) {
  return std::to_string(pid) + " (a ) b) S 1 1 1 0 -1 4194304 9 0 0 0 " + std::to_string(user) + " " +
         std::to_string(system) + " 0 0 20 0 1 0 5 6 7";
}

TEST(TaskRates, SumOverWhoWasThereAtBothLooks) {
  TaskRates rates(0.5, TaskRates::New::kNothing);
  EXPECT_FALSE(rates.read({{7, 100}, {3, 10}}, kSecondNs).valid);
  EXPECT_DOUBLE_EQ(rates.read({{3, 20}, {5, 9000}, {7, 130}}, 2 * kSecondNs).value, 20);
  EXPECT_DOUBLE_EQ(rates.read({{5, 9002}, {7, 5}}, 3 * kSecondNs).value, 1);  // 7 is another one now
  EXPECT_FALSE(rates.read({{8, 1}}, 4 * kSecondNs).valid);
  EXPECT_FALSE(rates.read({{8, 2}}, 4 * kSecondNs).valid);
  EXPECT_FALSE(rates.read({}, 5 * kSecondNs).valid);
}

TEST(TaskRates, CountWhoHasBegunSinceWhereItBeganAtZero) {
  TaskRates rates(1, TaskRates::New::kFromZero);
  EXPECT_FALSE(rates.read({{3, 10}, {7, 500}}, kSecondNs).valid);
  EXPECT_DOUBLE_EQ(rates.read({{3, 20}, {5, 100}, {7, 4}}, 2 * kSecondNs).value, 114);
}

TEST(TaskMeter, ThreadsAndProcessesAreSummed) {
  const SystemTree tree;
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  tree.put("/proc/self/stat", task_stat(10, 1000, 100));
  tree.put("/proc/self/task/10/schedstat", "1000000000 500000000 9\n");
  tree.put("/proc/self/task/11/schedstat", "1000000000 0 9\n");
  tree.put("/proc/20/stat", task_stat(20, 100, 50));
  tree.put("/proc/20/schedstat", "1 0 1\n");
  const std::vector<std::int32_t> processes{20, 21};
  TaskMeter meter(tree.root());
  const TaskReadings first = meter.read(kSecondNs, processes);
  EXPECT_EQ(first.threads_count.value, 2);
  EXPECT_FALSE(first.threads_cpu.valid);
  EXPECT_FALSE(first.threads_wait.valid);
  EXPECT_FALSE(first.processes_cpu.valid);
  tree.put("/proc/self/stat", task_stat(10, 1060, 115));
  tree.put("/proc/self/task/10/schedstat", "1500000000 600000000 9\n");
  tree.put("/proc/20/stat", task_stat(20, 120, 60));
  tree.put("/proc/20/schedstat", "1 250000000 1\n");
  const TaskReadings seen = meter.read(2 * kSecondNs, processes);
  EXPECT_DOUBLE_EQ(seen.threads_cpu.value, 75 * tick);
  EXPECT_NEAR(seen.threads_wait.value, 0.1, 1e-9);
  EXPECT_DOUBLE_EQ(seen.processes_cpu.value, 30 * tick);
  EXPECT_DOUBLE_EQ(seen.processes_wait.value, 0.25);
  tree.remove("/proc/20");
  EXPECT_FALSE(meter.read(3 * kSecondNs, processes).processes_cpu.valid);
}

TEST(TaskMeter, ManyThreadsAreLookedAtMoreSeldom) {
  const SystemTree tree;
  for (int thread = 1; thread <= 300; ++thread) {
    tree.put("/proc/self/task/" + std::to_string(thread) + "/schedstat", "0 0 0\n");
  }
  TaskMeter meter(tree.root());
  meter.read(kSecondNs, {});
  tree.put("/proc/self/task/1/schedstat", "0 2000000000 0\n");
  EXPECT_FALSE(meter.read(2 * kSecondNs, {}).threads_wait.valid);
  EXPECT_DOUBLE_EQ(meter.read(3 * kSecondNs, {}).threads_wait.value, 1);
  EXPECT_EQ(meter.read(4 * kSecondNs, {}).threads_wait.time_ns, 3 * kSecondNs);
}

TEST(TaskMeter, WithNothingReadableAllIsInvalid) {
  const SystemTree tree;
  TaskMeter meter(tree.root());
  const std::vector<std::int32_t> processes{20};
  for (std::uint64_t look = 1; look < 4; ++look) {
    for (const Reading& each : list_of(meter.read(look * kSecondNs, processes))) EXPECT_FALSE(each.valid);
  }
  tree.put("/proc/self/task/10/status", "no schedstat in this kernel");
  tree.put("/proc/20/stat", "nonsense");
  const TaskReadings seen = meter.read(100 * kSecondNs, processes);
  EXPECT_EQ(seen.threads_count.value, 1);
  EXPECT_FALSE(seen.threads_wait.valid);
  EXPECT_FALSE(seen.processes_cpu.valid);
}

TEST(TaskMeter, OfThisMachineSeesItsOwnThread) {
  if (access("/proc/self/schedstat", R_OK) != 0) GTEST_SKIP() << "this kernel counts no waits for cores";
  TaskMeter meter;
  const std::vector<std::int32_t> self{getpid()};
  meter.read(monotonic_ns(), self);
  const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(60);
  while (std::chrono::steady_clock::now() < until) {
  }
  const TaskReadings seen = meter.read(monotonic_ns(), self);
  EXPECT_GE(seen.threads_count.value, 1);
  ASSERT_TRUE(seen.threads_cpu.valid);
  EXPECT_GT(seen.threads_cpu.value, 0);
  EXPECT_TRUE(seen.threads_wait.valid);
  EXPECT_TRUE(seen.processes_cpu.valid);
}

}  // namespace
}  // namespace drapps
