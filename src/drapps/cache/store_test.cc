#include "drapps/cache/store.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <thread>
#include <vector>

#include "drapps/base/full_testing.h"

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
  const Member member = store.join(10, kPlenty);
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
  store.leave(member);
  EXPECT_TRUE(store.empty());
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Store, AFileThatHasChangedIsAMissAndItsEntryGoes) {
  MemoryLedger ledger;
  Store store(ledger);
  const Member member = store.join(10, kPlenty);
  offer(store, 1, 100, 1000, 7);
  EXPECT_FALSE(holds(store, 1, 100, 8));
  EXPECT_FALSE(store.has(id_of(1)));
  offer(store, 1, 100, 1000, 8);
  EXPECT_EQ(offer(store, 1, 100, 1000, 9), Admission::kAdmitted);  // in the place of that of state 8
  EXPECT_TRUE(holds(store, 1, 100, 9));
  EXPECT_EQ(store.statistics().stale, 2u);
  store.leave(member);
}

TEST(Store, IsNeverAboveItsBudgetAndSmallerEntriesEnterWhereALargerOneDoesNot) {
  MemoryLedger ledger;
  Store store(ledger);
  constexpr std::size_t kBudget = 100'000;
  const Member member = store.join(2000, kBudget);
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
  store.leave(member);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Store, OfABudgetThatFallsTheLeastWorthGoesFirst) {
  MemoryLedger ledger;
  Store store(ledger);
  const Member member = store.join(100, kPlenty);
  for (std::uint64_t i = 0; i < 100; ++i) offer(store, i, 1000, i % 2 == 0 ? 100'000 : 10'000'000);
  const std::size_t full = store.bytes();
  store.set_budget(full - 30 * Store::size_of(FormId::kBytes, 1000));
  EXPECT_LE(store.bytes(), store.budget());
  EXPECT_EQ(store.statistics().dropped, 30u);
  for (std::uint64_t i = 1; i < 100; i += 2) EXPECT_TRUE(holds(store, i, 1000));
  store.leave(member);
}

TEST(Store, WhatAViewLooksAtStaysUntilItGoes) {
  MemoryLedger ledger;
  Store store(ledger);
  const Member member = store.join(10, kPlenty);
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
  store.leave(member);
}

TEST(Store, GivesWayToWhoNeedsMemoryAndGrowsNoMoreThen) {
  MemoryLedger whole(200'000);
  MemoryLedger account(&whole);
  Store store(account);
  const Member member = store.join(100, 150'000);
  for (std::uint64_t i = 0; i < 100; ++i) offer(store, i, 2000);
  EXPECT_GT(whole.used(), 140'000u);
  MemoryLedger other(&whole);
  EXPECT_TRUE(other.reserve(150'000));
  EXPECT_LE(whole.used(), 200'000u);
  other.release(150'000);
  const std::size_t left = store.bytes();
  for (std::uint64_t i = 0; i < 100; ++i) offer(store, i, 2000);
  EXPECT_LE(store.bytes(), left);
  store.leave(member);
}

TEST(Store, TheLargestOfSeveralBudgetsIsInForceAndTheLastTakesAllAlong) {
  MemoryLedger ledger;
  Store store(ledger);
  const Member large = store.join(10, 50'000);
  const Member small = store.join(10, 20'000);
  EXPECT_EQ(store.budget(), 50'000u);
  for (std::uint64_t i = 0; i < 20; ++i) offer(store, i, 2000);
  store.leave(large);
  EXPECT_LE(store.bytes(), 20'000u);
  EXPECT_FALSE(store.empty());
  store.leave(small);
  EXPECT_EQ(ledger.used(), 0u);
}

/// Entries that a member finds or offers; how many were admitted.
std::uint64_t pass(Store& store, const Member& member, std::uint64_t first, std::uint64_t count, std::size_t bytes) {
  std::uint64_t admitted = 0;
  for (std::uint64_t i = first; i < first + count; ++i) {
    const Key key{id_of(i), 1, member.number};
    if (store.get(key)) continue;
    admitted += store.offer(key, FormId::kBytes, bytes, 1000, [&](std::span<std::uint8_t> entry) {
      std::ranges::copy(content_of(i, bytes), entry.begin());
    }) == Admission::kAdmitted;
  }
  return admitted;
}

TEST(Store, MembersThatComeAndGoFindPlaceWhileAnotherStays) {
  MemoryLedger ledger;
  Store store(ledger);
  const Member stays = store.join(200, kPlenty);
  EXPECT_EQ(pass(store, stays, 0, 200, 50), 200u);
  for (std::uint64_t fold = 1; fold <= 60; ++fold) {
    const Member comes = store.join(300, kPlenty);
    ASSERT_EQ(pass(store, comes, fold * 1000, 300, 50), 300u) << fold;
    store.leave(comes);
  }
  EXPECT_EQ(store.statistics().dropped, 0u);  // there was room for all
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_TRUE(holds(store, i, 50));
  store.leave(stays);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Store, WhatMembersThatHaveLeftKeptYieldsToOthersEntries) {
  MemoryLedger ledger;
  Store store(ledger);
  constexpr std::size_t kBudget = 400'000;
  const Member stays = store.join(200, kBudget);
  EXPECT_EQ(pass(store, stays, 0, 200, 500), 200u);
  const std::size_t own = store.bytes();
  for (std::uint64_t fold = 1; fold <= 20; ++fold) {
    const Member comes = store.join(300, kBudget);
    EXPECT_GT(store.room(), kBudget - own - 100'000);
    ASSERT_EQ(pass(store, comes, fold * 1000, 300, 500), 300u) << fold;
    EXPECT_LE(store.bytes(), kBudget);
    store.leave(comes);
  }
  EXPECT_GT(store.bytes(), kBudget * 8 / 10);
  for (std::uint64_t i = 0; i < 200; ++i) EXPECT_TRUE(holds(store, i, 500));
  store.leave(stays);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Store, WhatAMemberThatIsThereHasFoundIsItsOwn) {
  MemoryLedger ledger;
  Store store(ledger);
  constexpr std::size_t kBudget = 200'000;
  const Member stays = store.join(100, kBudget);
  const Member leaves = store.join(300, kBudget);
  EXPECT_EQ(pass(store, leaves, 0, 300, 500), 300u);
  store.leave(leaves);
  EXPECT_EQ(pass(store, stays, 0, 100, 500), 0u);
  const Member comes = store.join(300, kBudget);
  pass(store, comes, 1000, 300, 500);
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(holds(store, i, 500));
  store.set_budget(store.bytes() / 2);
  std::uint64_t left = 0;
  for (std::uint64_t i = 100; i < 300; ++i) left += holds(store, i, 500);
  EXPECT_EQ(left, 0u);  // they go first
  store.leave(comes);
  store.leave(stays);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Store, MoreMembersThanThereAreNumbersForAreAllServed) {
  MemoryLedger ledger;
  Store store(ledger);
  const Member stays = store.join(10, kPlenty);
  std::vector<Member> many;
  for (std::uint64_t i = 0; i < 3 * Members::kMost; ++i) {
    const Member member = store.join(1, kPlenty);
    EXPECT_EQ(pass(store, member, i, 1, 10), 1u);
    i % 2 == 0 ? store.leave(member) : many.push_back(member);
  }
  for (const Member& member : many) {
    EXPECT_TRUE(holds(store, static_cast<std::uint64_t>(2 * (&member - many.data()) + 1), 10));
  }
  for (const Member& member : many) store.leave(member);
  store.leave(stays);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Store, ThreadsThatComeAndGoKeepItsBooks) {
  MemoryLedger ledger;
  Store store(ledger);
  constexpr std::size_t kBudget = 300'000;
  const Member stays = store.join(100, kBudget);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&, thread] {
        for (std::uint64_t fold = 0; fold < 40; ++fold) {
          const Member comes = store.join(200, kBudget);
          pass(store, comes, (fold + thread) % 7 * 100, 200, 500);
          pass(store, stays, fold % 5 * 20, 20, 500);
          store.leave(comes);
        }
      });
    }
  }
  EXPECT_LE(store.bytes(), kBudget);
  EXPECT_LE(store.room(), kBudget);
  pass(store, stays, 0, 100, 500);
  store.set_budget(store.bytes());
  const Member last = store.join(1000, store.budget());
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(holds(store, i, 500));
  store.leave(last);
  store.leave(stays);
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Store, MemoryIsAskedForWhileTheLastMemberLeaves) {
  MemoryLedger ledger;
  Store store(ledger);
  const std::jthread others([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) store.release(1);
  });
  for (std::uint64_t fold = 0; fold < 200; ++fold) {
    const Member member = store.join(200, kPlenty);
    pass(store, member, 0, 200, 500);
    store.leave(member);
  }
}

TEST(Store, ManyEntriesCostAtMost64BytesEachBesideTheirData) {
  MemoryLedger ledger;
  Store store(ledger);
  const std::uint64_t entries = full_tests() ? 1'000'000 : 200'000;
  const Member member = store.join(entries, kPlenty);
  std::size_t content = 0;
  for (std::uint64_t i = 0; i < entries; ++i) {
    const std::size_t bytes = 16 + i % 97;
    const RecordIdentity id{i * 0x9E3779B97F4A7C15u, i * 0xD1342543DE82EF95u + 1};
    ASSERT_EQ(store.offer({id, 1}, FormId::kBytes, bytes, 1, [](auto entry) { entry[0] = 1; }), Admission::kAdmitted);
    content += bytes;
  }
  EXPECT_LE(static_cast<double>(store.bytes() - content) / static_cast<double>(entries), 64.0);
  store.leave(member);
}

TEST(Store, ManyThreadsNeverSeeAnythingButWhatWasKept) {
  MemoryLedger ledger;
  Store store(ledger);
  constexpr std::uint64_t kSome = 300;
  const Member member = store.join(kSome, 400'000);
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
  std::uint64_t entry_count = 0;
  for (std::uint64_t i = 0; i < kSome; ++i) entry_count += holds(store, i, 500 + i * 7);
  EXPECT_EQ(entry_count, store.statistics().forms[0].entries);
  store.leave(member);
  EXPECT_EQ(ledger.used(), 0u);
}

}  // namespace
}  // namespace drapps::cache
