#include "drapps/base/memory_ledger.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace drapps {
namespace {

TEST(MemoryLedger, NeverPassesItsLimit) {
  MemoryLedger ledger(100);
  EXPECT_TRUE(ledger.try_reserve(60));
  EXPECT_FALSE(ledger.try_reserve(41));
  EXPECT_TRUE(ledger.try_reserve(40));
  EXPECT_EQ(ledger.used(), 100u);
  ledger.release(60);
  EXPECT_EQ(ledger.used(), 40u);
  EXPECT_EQ(ledger.peak(), 100u);
}

TEST(MemoryLedger, ALowerLimitRefusesUntilEnoughWasReleased) {
  MemoryLedger ledger(100);
  ASSERT_TRUE(ledger.try_reserve(80));
  ledger.set_limit(50);
  EXPECT_FALSE(ledger.try_reserve(1));
  ledger.release(40);
  EXPECT_TRUE(ledger.try_reserve(10));
}

TEST(MemoryLedger, HoldsUnderManyThreads) {
  MemoryLedger ledger(1000);
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i) {
      threads.emplace_back([&] {
        for (int k = 0; k < 20'000; ++k) {
          if (ledger.try_reserve(300)) ledger.release(300);
        }
      });
    }
  }
  EXPECT_EQ(ledger.used(), 0u);
  EXPECT_LE(ledger.peak(), 1000u);
}

}  // namespace
}  // namespace drapps
