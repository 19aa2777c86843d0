#include "drapps/exec/shared_work.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace drapps {
namespace {

TEST(SharedWork, DoesEachPartOnce) {
  WorkerGroup group;
  group.set_budget(3, CpuBudget::kUnlimited);
  for (const std::size_t helpers : {0, 1, 2, 7}) {
    for (const std::size_t parts : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> done(parts);
      share_work(group, parts, helpers, [&](std::size_t part) { ++done[part]; });
      for (const auto& times : done) EXPECT_EQ(times, 1);
      EXPECT_EQ(group.size(), 0);
    }
  }
}

TEST(SharedWork, HasHelpers) {
  WorkerGroup group;
  group.set_budget(1, CpuBudget::kUnlimited);
  std::atomic<int> inside{0};
  // Each waits for the other: one thread alone would never return.
  share_work(group, 2, 1, [&](std::size_t) {
    ++inside;
    while (inside < 2) std::this_thread::yield();
  });
  EXPECT_EQ(inside, 2);
}

}  // namespace
}  // namespace drapps
