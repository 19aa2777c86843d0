#include "drapps/decode/jpeg/index_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

namespace drapps::jpeg {
namespace {

using ::testing::ElementsAreArray;

constexpr std::size_t kRoom = 1 << 20;
constexpr IndexShape kByRows{.mcus_across = 20, .mcus_down = 30, .group = 20, .headers = 7, .file_bytes = 90'000};
constexpr IndexShape kByGroups{.mcus_across = 20, .mcus_down = 30, .group = 8, .headers = 7, .file_bytes = 90'000};
constexpr FileIdentity kOneFile{.size = 90'000, .mtime_ns = -5, .inode = 12};
constexpr FileIdentity kOtherFile{.size = 90'000, .mtime_ns = -4, .inode = 12};

std::vector<IndexEntry> entries_of(std::size_t count, std::int16_t seed = 0) {
  std::vector<IndexEntry> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = {.bit_high = static_cast<std::uint16_t>(i), .bit_low = 9, .dc = {seed, static_cast<std::int16_t>(-i), 1}};
  }
  return all;
}

std::size_t known(MemoryIndexStore& store, const IndexKey& key) {
  ScanIndex index;
  const bool hit = store.get(key, index);
  EXPECT_EQ(hit, !index.entries.empty());
  return index.entries.size();
}

TEST(MemoryIndexStore, GivesBackWhatWasOffered) {
  MemoryIndexStore store(MemoryLedger::unlimited(), 100, kRoom);
  store.offer({99, kOneFile}, kByRows, entries_of(11, 3));
  ScanIndex index;
  ASSERT_TRUE(store.get({99, kOneFile}, index));
  EXPECT_EQ(index.shape, kByRows);
  EXPECT_THAT(index.entries, ElementsAreArray(entries_of(11, 3)));
  EXPECT_FALSE(store.get({98, kOneFile}, index));
  EXPECT_TRUE(index.entries.empty());
}

TEST(MemoryIndexStore, YieldsToWhoHasNoMemoryAndDoesNotGrowBack) {
  MemoryLedger ledger(kRoom);
  MemoryLedger batches(&ledger);
  MemoryIndexStore store(ledger, 50, kRoom);
  const std::size_t empty = store.bytes();
  for (std::uint64_t record = 0; record < 50; ++record) store.offer({record, kOneFile}, kByRows, entries_of(30));
  const std::size_t full = store.bytes();
  EXPECT_EQ(ledger.releasable(), full - empty);

  ASSERT_TRUE(batches.reserve(kRoom - full + (full - empty) / 2));
  EXPECT_GT(store.statistics().records, 10u);
  EXPECT_LT(store.statistics().records, 30u);
  const std::size_t half = store.bytes();
  EXPECT_EQ(ledger.used(), batches.used() + half);
  batches.set_used(0);
  for (std::uint64_t record = 0; record < 50; ++record) store.offer({record, kOneFile}, kByRows, entries_of(30));
  EXPECT_LE(store.bytes(), half);

  EXPECT_TRUE(batches.reserve(kRoom - empty));
  EXPECT_EQ(store.statistics().records, 0u);
  EXPECT_FALSE(batches.reserve(kRoom));
}

TEST(MemoryIndexStore, CopiesWhateverIsKnownWithItsKey) {
  MemoryIndexStore store(MemoryLedger::unlimited(), 4, kRoom);
  store.offer({2, kOneFile}, kByRows, entries_of(5));
  IndexKey key;
  ScanIndex index;
  EXPECT_FALSE(store.copy(1, key, index));
  EXPECT_FALSE(store.copy(4, key, index));
  ASSERT_TRUE(store.copy(2, key, index));
  EXPECT_EQ(key.record, 2u);
  EXPECT_EQ(key.identity, kOneFile);
  EXPECT_THAT(index.entries, ElementsAreArray(entries_of(5)));
}

TEST(MemoryIndexStore, APrefixGrowsAndNeverShrinks) {
  MemoryIndexStore store(MemoryLedger::unlimited(), 1, kRoom);
  store.offer({0, kOneFile}, kByRows, entries_of(4, 1));
  store.offer({0, kOneFile}, kByRows, entries_of(3, 2));
  store.offer({0, kOneFile}, kByRows, entries_of(4, 2));
  ScanIndex index;
  ASSERT_TRUE(store.get({0, kOneFile}, index));
  EXPECT_THAT(index.entries, ElementsAreArray(entries_of(4, 1)));
  store.offer({0, kOneFile}, kByRows, entries_of(30, 2));
  ASSERT_TRUE(store.get({0, kOneFile}, index));
  EXPECT_THAT(index.entries, ElementsAreArray(entries_of(30, 2)));
}

TEST(MemoryIndexStore, AnotherFileIsForgottenOnGetAndOnOffer) {
  MemoryLedger ledger;
  MemoryIndexStore store(ledger, 1, kRoom);
  const std::size_t empty = store.bytes();
  store.offer({0, kOneFile}, kByRows, entries_of(20));
  EXPECT_GT(store.bytes(), empty + 20 * sizeof(IndexEntry));
  EXPECT_EQ(known(store, {0, kOtherFile}), 0u);
  EXPECT_EQ(store.bytes(), empty);
  EXPECT_EQ(known(store, {0, kOneFile}), 0u);

  store.offer({0, kOneFile}, kByRows, entries_of(20));
  store.offer({0, kOtherFile}, kByRows, entries_of(2));
  EXPECT_EQ(known(store, {0, kOtherFile}), 2u);
  EXPECT_EQ(store.statistics().entries, 2u);
  EXPECT_EQ(ledger.used(), store.bytes());
}

TEST(MemoryIndexStore, AnotherPictureInTheSameFileReplacesTheOld) {
  MemoryIndexStore store(MemoryLedger::unlimited(), 1, kRoom);
  store.offer({0, kOneFile}, kByRows, entries_of(20));
  IndexShape other = kByRows;
  other.headers = 8;
  store.offer({0, kOneFile}, other, entries_of(2));
  ScanIndex index;
  ASSERT_TRUE(store.get({0, kOneFile}, index));
  EXPECT_EQ(index.shape, other);
  EXPECT_EQ(index.entries.size(), 2u);
}

TEST(MemoryIndexStore, OfTwoGrainsTheOneThatReachesFurtherStaysThenTheFiner) {
  MemoryIndexStore store(MemoryLedger::unlimited(), 1, kRoom);
  const auto group = [&] {
    ScanIndex index;
    return store.get({0, kOneFile}, index) ? index.shape.group : 0;
  };
  store.offer({0, kOneFile}, kByRows, entries_of(10));
  store.offer({0, kOneFile}, kByGroups, entries_of(29));  // nine rows and two thirds
  EXPECT_EQ(group(), 20u);
  store.offer({0, kOneFile}, kByGroups, entries_of(30));
  EXPECT_EQ(group(), 8u);
  store.offer({0, kOneFile}, kByRows, entries_of(10));
  EXPECT_EQ(group(), 8u);
  const std::size_t before = store.bytes();
  store.offer({0, kOneFile}, kByRows, entries_of(11));
  EXPECT_EQ(group(), 20u);
  EXPECT_LT(store.bytes(), before);
}

TEST(MemoryIndexStore, IgnoresWhatNoPictureHas) {
  MemoryIndexStore store(MemoryLedger::unlimited(), 1, kRoom);
  const auto refuses = [&](IndexShape shape, std::size_t count) {
    store.offer({0, kOneFile}, shape, entries_of(count));
    return known(store, {0, kOneFile}) == 0;
  };
  const auto with = [](std::uint32_t across, std::uint32_t down, std::uint32_t group) {
    return IndexShape{.mcus_across = across, .mcus_down = down, .group = group};
  };
  EXPECT_TRUE(refuses(kByRows, 0));
  EXPECT_TRUE(refuses(kByRows, 31));
  EXPECT_TRUE(refuses(kByGroups, 91));
  EXPECT_TRUE(refuses(with(20, 30, 0), 1));
  EXPECT_TRUE(refuses(with(20, 30, 16), 1));
  EXPECT_TRUE(refuses(with(0, 30, 8), 1));
  EXPECT_TRUE(refuses(with(0, 30, 0), 1));
  EXPECT_TRUE(refuses(with(20, 0, 8), 1));
  EXPECT_TRUE(refuses(with(8193, 1, 8), 1));
  EXPECT_TRUE(refuses(with(0xFFFFFFFF, 1, 0xFFFFFFFF), 1));
  EXPECT_TRUE(refuses(with(8, 8193, 8), 1));
  EXPECT_FALSE(refuses(kByGroups, 90));
}

TEST(MemoryIndexStore, IgnoresRecordsThatTheSourceDoesNotHave) {
  MemoryIndexStore store(MemoryLedger::unlimited(), 3, kRoom);
  const std::size_t empty = store.bytes();
  store.offer({3, kOneFile}, kByRows, entries_of(1));
  store.offer({~std::uint64_t{0}, kOneFile}, kByRows, entries_of(1));
  EXPECT_EQ(store.bytes(), empty);
  EXPECT_EQ(known(store, {3, kOneFile}), 0u);
}

TEST(MemoryIndexStore, TheBudgetIsHardAndWhatIsKeptStays) {
  constexpr std::size_t kStored = 1000;
  MemoryLedger ledger;
  const std::size_t table = MemoryIndexStore(ledger, kStored, kRoom).bytes();
  MemoryIndexStore store(ledger, kStored, table + 20'000);
  std::size_t kept = 0;
  for (std::uint64_t i = 0; i < kStored; ++i) {
    store.offer({i, kOneFile}, kByRows, entries_of(10));
    kept += known(store, {i, kOneFile}) != 0;
    ASSERT_LE(store.bytes(), table + 20'000);
    ASSERT_EQ(store.bytes(), ledger.used());
  }
  EXPECT_GT(kept, 100u);
  EXPECT_LT(kept, 130u);
  EXPECT_EQ(store.statistics().refused, kStored - kept);
  // No room to grow by 200 bytes: the shorter prefix stays. One that is forgotten makes room.
  store.offer({0, kOneFile}, kByRows, entries_of(30));
  EXPECT_EQ(known(store, {0, kOneFile}), 10u);
  EXPECT_EQ(known(store, {1, kOtherFile}), 0u);
  EXPECT_EQ(known(store, {2, kOtherFile}), 0u);
  store.offer({0, kOneFile}, kByRows, entries_of(30));
  EXPECT_EQ(known(store, {0, kOneFile}), 30u);
}

TEST(MemoryIndexStore, TheLedgerIsHardToo) {
  MemoryLedger ledger(30'000);
  {
    MemoryIndexStore store(ledger, 200, kRoom);
    for (std::uint64_t i = 0; i < 200; ++i) store.offer({i, kOneFile}, kByRows, entries_of(30));
    EXPECT_LE(ledger.peak(), 30'000u);
    EXPECT_EQ(ledger.used(), store.bytes());
    EXPECT_GT(store.statistics().refused, 0u);
    EXPECT_GT(store.statistics().records, 0u);
  }
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(MemoryIndexStore, WithoutRoomForItsTableItKeepsNothing) {
  for (const std::uint64_t records : {std::uint64_t{1000}, ~std::uint64_t{0}, ~std::uint64_t{0} / 8}) {
    MemoryIndexStore store(MemoryLedger::unlimited(), records, 9000);
    EXPECT_EQ(store.records(), 0u);
    EXPECT_EQ(store.bytes(), 0u);
    store.offer({0, kOneFile}, kByRows, entries_of(1));
    EXPECT_EQ(known(store, {0, kOneFile}), 0u);
    EXPECT_EQ(store.group(100, 100), 100u);
  }
}

TEST(MemoryIndexStore, GrainIsFineWhereEveryRecordCouldBeComplete) {
  constexpr std::size_t kStored = 1000;
  const std::size_t table = MemoryIndexStore(MemoryLedger::unlimited(), kStored, kRoom).bytes();
  MemoryIndexStore store(MemoryLedger::unlimited(), kStored, table + kStored * 1000);
  EXPECT_EQ(store.group(20, 30), 8u);   // 90 entries
  EXPECT_EQ(store.group(20, 32), 20u);  // 96 are more than 1000 bytes with what belongs to them
  EXPECT_EQ(store.group(0, 30), 0u);
  for (std::uint64_t i = 0; i < kStored; ++i) store.offer({i, kOneFile}, kByGroups, entries_of(90));
  EXPECT_EQ(store.statistics().complete, kStored);
}

TEST(MemoryIndexStore, StatisticsSayHowMuchIsKnown) {
  MemoryIndexStore store(MemoryLedger::unlimited(), 200, kRoom);
  EXPECT_EQ(store.statistics().coverage(), 0);
  store.offer({0, kOneFile}, kByRows, entries_of(15));
  store.offer({100, kOneFile}, kByGroups, entries_of(90));
  store.offer({0, kOneFile}, kByRows, entries_of(30));
  store.offer({199, kOneFile}, kByRows, entries_of(3));
  const IndexStatistics statistics = store.statistics();
  EXPECT_EQ(statistics.records, 3u);
  EXPECT_EQ(statistics.complete, 2u);
  EXPECT_EQ(statistics.entries, 123u);
  EXPECT_EQ(statistics.complete_entries, 150u);
  EXPECT_EQ(statistics.refused, 0u);
  EXPECT_DOUBLE_EQ(statistics.coverage(), 0.82);
}

TEST(MemoryIndexStore, ManyThreadsSeeWholeIndexesOnly) {
  constexpr std::uint64_t kStored = 40;
  MemoryLedger ledger;
  const std::size_t table = MemoryIndexStore(ledger, kStored, kRoom).bytes();
  MemoryIndexStore store(ledger, kStored, table + 9000);  // too little for all
  std::atomic<int> wrong{0};
  {
    std::array<std::jthread, 8> threads;
    for (std::uint32_t t = 0; t < threads.size(); ++t) {
      threads[t] = std::jthread([&, t] {
        std::uint32_t random = t + 1;
        ScanIndex index;
        IndexKey copied;
        for (int i = 0; i < 3000; ++i) {
          random = random * 1664525 + 1013904223;
          const IndexKey key{random >> 8 & 63, (random >> 16) % 16 == 0 ? kOtherFile : kOneFile};
          const auto seed = static_cast<std::int16_t>(key.identity == kOneFile ? 1 : 2);
          if (store.get(key, index) && index.entries != entries_of(index.entries.size(), seed)) ++wrong;
          store.offer(key, kByRows, entries_of(1 + (random >> 20) % 30, seed));
          if (i % 100 == 0) {
            if (store.copy(key.record, copied, index) && index.shape != kByRows) ++wrong;
            wrong += store.statistics().coverage() > 1 || store.bytes() > table + 9000;
          }
        }
      });
    }
  }
  EXPECT_EQ(wrong, 0);
  std::uint64_t count = 0;
  IndexKey key;
  ScanIndex index;
  for (std::uint64_t i = 0; i < kStored; ++i) count += store.copy(i, key, index) ? index.entries.size() : 0;
  EXPECT_EQ(store.statistics().entries, count);
  EXPECT_EQ(ledger.used(), store.bytes());
}

}  // namespace
}  // namespace drapps::jpeg
