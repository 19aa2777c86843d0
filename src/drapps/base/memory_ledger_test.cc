#include "drapps/base/memory_ledger.h"

#include <gtest/gtest.h>

#include <algorithm>
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

TEST(MemoryLedger, AnAccountCountsInTheWholeAndHoldsBothLimits) {
  MemoryLedger whole(100);
  MemoryLedger one(&whole);
  {
    MemoryLedger other(&whole, 30);
    EXPECT_TRUE(one.try_reserve(60));
    EXPECT_FALSE(other.try_reserve(31));
    EXPECT_TRUE(other.try_reserve(30));
    EXPECT_FALSE(one.try_reserve(11));
    EXPECT_EQ(whole.used(), 90u);
    EXPECT_EQ(one.used(), 60u);
    other.add_held(5);
    EXPECT_EQ(one.held(), 5u);
  }
  EXPECT_EQ(whole.used(), 60u);  // an account that goes releases what it had
  EXPECT_EQ(&one.whole(), &whole);
  one.release(60);
  EXPECT_EQ(whole.used(), 0u);
  EXPECT_EQ(whole.peak(), 90u);
}

TEST(MemoryLedger, WhatIsInUseAlreadyIsBookedOverTheLimitToo) {
  MemoryLedger whole(100);
  MemoryLedger account(&whole);
  account.set_used(130);
  EXPECT_EQ(whole.used(), 130u);
  EXPECT_FALSE(whole.try_reserve(1));
  account.set_used(40);
  EXPECT_EQ(whole.used(), 40u);
  EXPECT_EQ(whole.peak(), 130u);
  EXPECT_TRUE(whole.try_reserve(60));
}

struct Hoard final : Releasable {
  Hoard(MemoryLedger& ledger, std::size_t bytes) : account(&ledger) { account.set_used(bytes); }
  std::size_t release(std::size_t bytes) noexcept override {
    const std::size_t given = std::min(bytes, account.used());
    account.release(given);
    return given;
  }
  std::size_t releasable() const noexcept override { return account.used(); }
  MemoryLedger account;
};

TEST(MemoryLedger, WhoYieldsIsAskedInTheDeclaredOrderAndOnlyForWhatIsNeeded) {
  MemoryLedger whole(100);
  MemoryLedger account(&whole);
  Hoard index(whole, 50);
  Hoard spare(whole, 40);
  whole.add(index, ReleaseOrder::kCache);
  account.add(spare, ReleaseOrder::kSpareBatches);  // with an account, it is the whole that asks
  EXPECT_EQ(account.releasable(), 90u);
  EXPECT_FALSE(account.try_reserve(30));
  EXPECT_TRUE(account.reserve(30));
  EXPECT_EQ(spare.account.used(), 20u);
  EXPECT_EQ(index.account.used(), 50u);
  EXPECT_TRUE(account.reserve(30));
  EXPECT_EQ(spare.account.used(), 0u);
  EXPECT_EQ(index.account.used(), 40u);
  EXPECT_FALSE(account.reserve(60));
  whole.remove(index);
  whole.remove(spare);
  EXPECT_EQ(whole.releasable(), 0u);
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
