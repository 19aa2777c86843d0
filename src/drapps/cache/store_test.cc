#include "drapps/cache/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

namespace drapps::cache {
namespace {

constexpr std::size_t kPlenty = std::size_t{1} << 30;

RecordIdentity id_of(std::uint64_t number) { return identity_of("record " + std::to_string(number)); }

/// Content that tells which entry it is.
std::vector<std::uint8_t> content_of(std::uint64_t number, std::size_t bytes) {
  std::mt19937_64 random(number);
  std::vector<std::uint8_t> content(bytes);
  for (std::uint8_t& byte : content) byte = static_cast<std::uint8_t>(random());
  return content;
}

Admission offer(Store& store, std::uint64_t number, std::size_t bytes, std::uint64_t saved_ns = 1000,
                std::uint64_t state = 1, FormId form = FormId::kBytes) {
  return store.offer({id_of(number), state}, form, bytes, saved_ns, [&](std::span<std::uint8_t> entry) {
    std::ranges::copy(content_of(number, bytes), entry.begin());
  });
}

bool holds(Store& store, std::uint64_t number, std::size_t bytes, std::uint64_t state = 1) {
  const View view = store.get({id_of(number), state});
  if (!view) return false;
  const auto content = content_of(number, bytes);
  EXPECT_TRUE(std::ranges::equal(view.bytes(), content));
  return true;
}

TEST(Store, KeepsWhatItIsOfferedAndNothingElse) {
  MemoryLedger ledger;
  Store store(ledger);
  EXPECT_EQ(offer(store, 1, 100), Admission::kFull);  // nobody has joined
  store.join(10, kPlenty);
  EXPECT_FALSE(store.has(id_of(1)));
  EXPECT_EQ(offer(store, 1, 100), Admission::kAdmitted);
  EXPECT_EQ(offer(store, 1, 100), Admission::kExists);
  EXPECT_EQ(offer(store, 2, 0, 5, 1, FormId::kRaw), Admission::kAdmitted);
  EXPECT_TRUE(store.has(id_of(1)));
  EXPECT_TRUE(holds(store, 1, 100));
  EXPECT_EQ(store.get({id_of(2), 1}).form(), FormId::kRaw);
  EXPECT_FALSE(holds(store, 3, 100));
  const StoreStatistics kept = store.statistics();
  EXPECT_EQ(kept.forms[static_cast<std::size_t>(FormId::kBytes)].entries, 1u);
  EXPECT_EQ(kept.forms[static_cast<std::size_t>(FormId::kBytes)].bytes, 100u);
  EXPECT_EQ(kept.forms[static_cast<std::size_t>(FormId::kBytes)].saved_ns, 1000u);
  EXPECT_EQ(kept.refused, 1u);
  store.leave(10, kPlenty);
  EXPECT_TRUE(store.empty());
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Store, AFileThatHasChangedIsAMissAndItsEntryGoes) {
  MemoryLedger ledger;
  Store store(ledger);
  store.join(10, kPlenty);
  offer(store, 1, 100, 1000, 7);
  EXPECT_FALSE(holds(store, 1, 100, 8));
  EXPECT_FALSE(store.has(id_of(1)));
  offer(store, 1, 100, 1000, 8);
  EXPECT_EQ(offer(store, 1, 100, 1000, 9), Admission::kAdmitted);  // in the place of that of state 8
  EXPECT_TRUE(holds(store, 1, 100, 9));
  EXPECT_EQ(store.statistics().stale, 2u);
  store.leave(10, kPlenty);
}

TEST(Store, IsNeverAboveItsBudgetAndSmallerEntriesEnterWhereALargerOneDoesNot) {
  MemoryLedger ledger;
  Store store(ledger);
  constexpr std::size_t kBudget = 100'000;
  store.join(2000, kBudget);
  std::mt19937_64 random(3);
  std::lognormal_distribution<double> sizes(std::log(500), 1);
  std::size_t admitted = 0;
  bool refused_before = false;
  bool admitted_behind = false;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const auto bytes = static_cast<std::size_t>(sizes(random));
    const Admission admission = offer(store, i, bytes);
    EXPECT_LE(store.bytes(), kBudget);
    EXPECT_EQ(store.bytes(), ledger.used());
    admitted += admission == Admission::kAdmitted;
    admitted_behind |= refused_before && admission == Admission::kAdmitted;
    refused_before |= admission == Admission::kFull;
  }
  EXPECT_TRUE(admitted_behind);
  EXPECT_GT(store.bytes(), kBudget * 95 / 100);
  EXPECT_EQ(store.statistics().forms[0].entries, admitted);
  store.leave(2000, kBudget);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Store, OfABudgetThatFallsTheLeastWorthGoesFirst) {
  MemoryLedger ledger;
  Store store(ledger);
  store.join(100, kPlenty);
  for (std::uint64_t i = 0; i < 100; ++i) offer(store, i, 1000, i % 2 == 0 ? 100'000 : 10'000'000);
  const std::size_t full = store.bytes();
  store.set_budget(full - 30 * Store::size_of(FormId::kBytes, 1000));
  EXPECT_LE(store.bytes(), store.budget());
  EXPECT_EQ(store.statistics().dropped, 30u);
  for (std::uint64_t i = 1; i < 100; i += 2) EXPECT_TRUE(holds(store, i, 1000));
  store.leave(100, kPlenty);
}

TEST(Store, WhatAViewLooksAtStaysUntilItGoes) {
  MemoryLedger ledger;
  Store store(ledger);
  store.join(10, kPlenty);
  offer(store, 1, 50'000);
  View view = store.get({id_of(1), 1});
  ASSERT_TRUE(view);
  store.set_budget(0);
  EXPECT_FALSE(store.has(id_of(1)));
  EXPECT_TRUE(std::ranges::equal(view.bytes(), content_of(1, 50'000)));
  const std::size_t before = store.bytes();
  View moved = std::move(view);
  moved.reset();
  EXPECT_EQ(store.bytes(), before - Store::size_of(FormId::kBytes, 50'000));
  store.leave(10, kPlenty);
}

TEST(Store, GivesWayToWhoNeedsMemoryAndGrowsNoMoreThen) {
  MemoryLedger whole(200'000);
  MemoryLedger account(&whole);
  Store store(account);
  store.join(100, 150'000);
  for (std::uint64_t i = 0; i < 100; ++i) offer(store, i, 2000);
  EXPECT_GT(whole.used(), 140'000u);
  MemoryLedger other(&whole);
  EXPECT_TRUE(other.reserve(150'000));
  EXPECT_LE(whole.used(), 200'000u);
  other.release(150'000);
  const std::size_t left = store.bytes();
  for (std::uint64_t i = 0; i < 100; ++i) offer(store, i, 2000);
  EXPECT_LE(store.bytes(), left);
  store.leave(100, 150'000);
}

TEST(Store, TheLargestOfSeveralBudgetsIsInForceAndTheLastTakesAllAlong) {
  MemoryLedger ledger;
  Store store(ledger);
  store.join(10, 50'000);
  store.join(10, 20'000);
  EXPECT_EQ(store.budget(), 50'000u);
  for (std::uint64_t i = 0; i < 20; ++i) offer(store, i, 2000);
  store.leave(10, 50'000);
  EXPECT_LE(store.bytes(), 20'000u);
  EXPECT_FALSE(store.empty());
  store.leave(10, 20'000);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Store, AMillionEntriesCostAtMost64BytesEachBesideTheirData) {
  MemoryLedger ledger;
  Store store(ledger);
  constexpr std::uint64_t kEntries = 1'000'000;
  store.join(kEntries, kPlenty);
  std::size_t content = 0;
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    const std::size_t bytes = 16 + i % 97;
    const RecordIdentity id{i * 0x9E3779B97F4A7C15u, i * 0xD1342543DE82EF95u + 1};
    ASSERT_EQ(store.offer({id, 1}, FormId::kBytes, bytes, 1, [](auto entry) { entry[0] = 1; }), Admission::kAdmitted);
    content += bytes;
  }
  EXPECT_LE(static_cast<double>(store.bytes() - content) / kEntries, 64.0);
  store.leave(kEntries, kPlenty);
}

TEST(Store, ManyThreadsNeverSeeAnythingButWhatWasKept) {
  MemoryLedger ledger;
  Store store(ledger);
  constexpr std::uint64_t kSome = 300;
  store.join(kSome, 400'000);
  {
    std::vector<std::jthread> threads;
    for (unsigned thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        std::mt19937_64 random(thread);
        for (int i = 0; i < 4000; ++i) {
          const std::uint64_t number = random() % kSome;
          const std::size_t bytes = 500 + number * 7;
          const View view = store.get({id_of(number), 1});
          if (view) {
            ASSERT_TRUE(std::ranges::equal(view.bytes(), content_of(number, bytes)));
          } else {
            offer(store, number, bytes, random() % 1'000'000);
          }
          if (i % 64 == 0) store.drop(id_of(random() % kSome));
          if (thread == 0 && i % 500 == 0) store.set_budget(i % 1000 == 0 ? 100'000 : 400'000);
        }
      });
    }
  }
  store.set_budget(400'000);
  EXPECT_LE(store.bytes(), 400'000u);
  std::uint64_t found = 0;
  for (std::uint64_t i = 0; i < kSome; ++i) found += holds(store, i, 500 + i * 7);
  EXPECT_EQ(found, store.statistics().forms[0].entries);
  store.leave(kSome, 400'000);
  EXPECT_EQ(ledger.used(), 0u);
}

}  // namespace
}  // namespace drapps::cache
