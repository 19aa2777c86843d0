#include "drapps/decode/jpeg/index_shared.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/decode/testing.h"

namespace drapps::jpeg {
namespace {

using drapps::testing::Bytes;
using drapps::testing::encode_jpeg;
using ::testing::ElementsAreArray;
using testing::Twins;

constexpr std::uint64_t kIndexTable = 1 << 20;
constexpr std::uint64_t kSmallTable = 1 << 16, kSmallRecords = 2 * kPageBytes;  // where its records begin
constexpr IndexShape kTableShape{.mcus_across = 20, .mcus_down = 30, .group = 8, .headers = 7, .file_bytes = 90'000};
constexpr std::size_t kAllEntries = 90;

IndexKey key_number(std::uint64_t number) {
  return {.record = mixed(number), .identity = {.size = 90'000, .mtime_ns = 0, .inode = mixed(~number)}};
}

/// The entries of a picture: the same whoever makes them.
std::vector<IndexEntry> known_entries(std::uint64_t number, std::size_t count) {
  std::vector<IndexEntry> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    all[i] = {.bit_high = static_cast<std::uint16_t>(i),
              .bit_low = static_cast<std::uint16_t>(number),
              .dc = {static_cast<std::int16_t>(number * i), static_cast<std::int16_t>(-i), 1}};
  }
  return all;
}

void learn(SharedIndexStore& store, std::uint64_t number, std::size_t count) {
  store.offer(key_number(number), kTableShape, known_entries(number, count));
}

/// How many entries are known; 1,000 where they are not the right ones.
std::size_t known_of(SharedIndexStore& store, std::uint64_t number) {
  ScanIndex index;
  const bool hit = store.get(key_number(number), index);
  EXPECT_EQ(hit, !index.entries.empty());
  if (hit && index.shape != kTableShape) return 1000;
  return index.entries == known_entries(number, index.entries.size()) ? index.entries.size() : 1000;
}

std::shared_ptr<SharedIndexStore> new_table(std::uint64_t budget = kIndexTable, std::uint64_t pictures = 0) {
  return *SharedIndexStore::make(budget, pictures);
}

/// All of the table's memory, to be written over.
Mapping memory_of(const SharedIndexStore& store) { return *SharedFile::attach(store.fd())->map(0, store.budget()); }

TEST(SharedIndexStore, GivesBackWhatWasOfferedAndWhatWasOfferedBeyondIt) {
  const auto store = new_table();
  const auto other = *SharedIndexStore::attach(store->fd());
  EXPECT_EQ(known_of(*store, 1), 0u);
  learn(*store, 1, 11);
  EXPECT_EQ(known_of(*other, 1), 11u);
  learn(*other, 1, 50);
  EXPECT_EQ(known_of(*store, 1), 50u);
  learn(*store, 1, 20);
  EXPECT_EQ(known_of(*other, 1), 50u);
  EXPECT_EQ(known_of(*store, 2), 0u);
  learn(*store, 2, kAllEntries);

  const SharedIndexStatistics statistics = other->statistics();
  EXPECT_EQ(statistics.records, 2u);
  EXPECT_EQ(statistics.complete, 1u);
  EXPECT_EQ(statistics.entries, 50u + kAllEntries);
  EXPECT_DOUBLE_EQ(statistics.coverage(), (50.0 + kAllEntries) / (2 * kAllEntries));
  EXPECT_EQ(statistics.hits, 3u);
  EXPECT_EQ(statistics.misses, 2u);
}

TEST(SharedIndexStore, IgnoresWhatNoPictureHas) {
  const auto store = new_table();
  IndexShape shape = kTableShape;
  store->offer(key_number(1), shape, {});
  store->offer(key_number(1), shape, known_entries(1, kAllEntries + 1));
  shape.group = 3;
  store->offer(key_number(1), shape, known_entries(1, 5));
  shape = kTableShape;
  shape.file_bytes = 1;
  store->offer(key_number(1), shape, known_entries(1, 5));
  EXPECT_EQ(store->statistics().records, 0u);
}

TEST(SharedIndexStore, KeepsWhatItHasWhereTheBudgetIsUsedUp) {
  const auto store = new_table();
  constexpr std::uint64_t kPictures = 2000;
  for (std::uint64_t number = 0; number < kPictures; ++number) learn(*store, number, 30);
  const SharedIndexStatistics statistics = store->statistics();
  EXPECT_GT(statistics.records, 500u);
  EXPECT_GT(statistics.refused, 500u);
  EXPECT_EQ(statistics.records + statistics.refused, kPictures);
  EXPECT_LE(store->bytes(), kIndexTable);
  for (std::uint64_t number = 0; number < 100; ++number) EXPECT_EQ(known_of(*store, number), 30u);
  learn(*store, 5, kAllEntries);  // whose place is there already
  EXPECT_EQ(known_of(*store, 5), kAllEntries);
}

TEST(SharedIndexStore, ChoosesGroupsByTheShareOfAPicture) {
  EXPECT_EQ(new_table()->group(63, 47), 8u);
  EXPECT_EQ(new_table()->group(500, 400), 500u);
  EXPECT_EQ(new_table(kIndexTable, 3)->group(500, 400), 8u);
  EXPECT_EQ(new_table(kIndexTable, 1000)->group(63, 47), 63u);
}

TEST(SharedIndexStore, AFileIsCalledByAllOfItsBytes) {
  const auto store = new_table();
  const auto fields = [](const IndexKey& key) { return std::tuple(key.record, key.identity.size, key.identity.inode); };
  std::vector<std::uint8_t> file(50'000, 7);
  const auto before = fields(store->key_of(file));
  EXPECT_EQ(fields((*SharedIndexStore::attach(store->fd()))->key_of(file)), before);
  EXPECT_NE(fields(new_table()->key_of(file)), before);
  for (const std::size_t at : {0u, 25'000u, 49'999u}) {
    file[at] ^= 1;
    EXPECT_NE(fields(store->key_of(file)), before);
    file[at] ^= 1;
  }
  file.pop_back();
  EXPECT_NE(fields(store->key_of(file)), before);
}

TEST(SharedIndexStore, WhatWasWrittenOverIsNotUsed) {
  std::mt19937 random(3);
  std::uint64_t damaged = 0;
  for (int round = 0; round < 60; ++round) {
    const auto store = new_table(kSmallTable);
    for (std::uint64_t number = 0; number < 8; ++number) learn(*store, number, 40);
    const Mapping memory = memory_of(*store);
    std::byte* const records = memory.data() + kSmallRecords;
    for (int i = 0; i < 40; ++i) records[random() % 8000] ^= static_cast<std::byte>(1 + random() % 255);
    for (std::uint64_t number = 0; number < 8; ++number) {
      EXPECT_LT(known_of(*store, number), 41u);
      learn(*store, number, 60);
      EXPECT_LT(known_of(*store, number), 61u);
    }
    damaged += store->statistics().damaged;
  }
  EXPECT_GT(damaged, 60u);
}

TEST(SharedIndexStore, AnythingMayStandInItsMemory) {
  std::mt19937_64 random(4);
  for (int round = 0; round < 20; ++round) {
    const auto store = new_table(kSmallTable);
    for (std::uint64_t number = 0; number < 20; ++number) learn(*store, number, 40);
    const Mapping memory = memory_of(*store);
    for (std::size_t at = 64; at < memory.bytes(); at += 8) {
      const std::uint64_t word = random() >> random() % 64;
      if (random() % 4 == 0) std::memcpy(memory.data() + at, &word, sizeof word);
    }
    for (std::uint64_t number = 0; number < 40; ++number) {
      EXPECT_LT(known_of(*store, number), 41u);
      learn(*store, number, 60);
      EXPECT_LT(known_of(*store, number), 61u);
    }
  }
}

TEST(SharedIndexStore, IsAttachedToNothingElse) {
  SharedFile file = *SharedFile::make("test");
  EXPECT_EQ(SharedIndexStore::attach(file.fd()).error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(file.grow(kIndexTable).ok());
  EXPECT_EQ(SharedIndexStore::attach(file.fd()).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(SharedIndexStore::attach(-1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(SharedIndexStore::make(1000, 0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(SharedIndexStore::make(std::uint64_t{1} << 41, 0).error().code, ErrorCode::kInvalidArgument);
}

TEST(SharedIndexStore, ThreadsThatLearnTheSameAtOnceFindItRight) {
  const auto store = new_table(4 * kIndexTable);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      std::mt19937_64 random(t);
      for (int i = 0; i < 4000; ++i) {
        const std::uint64_t number = random() % 300;
        EXPECT_LE(known_of(*store, number), kAllEntries);
        learn(*store, number, 1 + random() % kAllEntries);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const SharedIndexStatistics statistics = store->statistics();
  EXPECT_EQ(statistics.records, 300u);
  std::uint64_t entries = 0;
  for (std::uint64_t number = 0; number < 300; ++number) entries += known_of(*store, number);
  EXPECT_EQ(statistics.entries, entries);
  EXPECT_EQ(statistics.complete_entries, 300 * kAllEntries);
}

TEST(SharedIndexStore, OfProcessesThatAreKilledNothingStaysButWhatIsWhole) {
  const auto store = new_table(8 * kIndexTable);
  std::mt19937_64 random(8);
  for (int round = 0; round < 20; ++round) {
    std::vector<pid_t> children;
    for (std::uint64_t seed = 0; seed < 2; ++seed) {
      const pid_t child = fork();
      if (child == 0) {
        std::mt19937_64 own(seed + 100 * static_cast<std::uint64_t>(round));
        for (;;) {
          const std::uint64_t number = own() % 2000;
          if (known_of(*store, number) > kAllEntries) _exit(1);
          learn(*store, number, 1 + own() % kAllEntries);
        }
      }
      children.push_back(child);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 3000));
    for (const pid_t child : children) {
      kill(child, SIGKILL);
      int status = 0;
      ASSERT_EQ(waitpid(child, &status, 0), child);
      EXPECT_TRUE(WIFSIGNALED(status));
    }
  }
  for (std::uint64_t number = 0; number < 2000; ++number) EXPECT_LE(known_of(*store, number), kAllEntries);
  learn(*store, 0, kAllEntries);
  EXPECT_EQ(known_of(*store, 0), kAllEntries);
  EXPECT_GT(store->statistics().records, 0u);
}

TEST(SharedIndexStore, WhatOneProcessHasLearntOthersDecodeBy) {
  const auto store = new_table(kSmallTable);
  const Bytes file = encode_jpeg({163, 421}, {});
  Twins twins;
  ASSERT_TRUE(twins.open(file));
  const IndexKey key = store->key_of(file);
  const pid_t child = fork();
  if (child == 0) _exit(twins.compare(0, twins.all(), store.get(), key).empty() ? 0 : 1);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  for (std::size_t level = 0; level < twins.levels(); ++level) {
    EXPECT_EQ(twins.compare(level, {100, 50, 40, 90}, store.get(), key), "");
    EXPECT_EQ(twins.had, Learned::kAll);
  }
  const Mapping memory = memory_of(*store);
  std::memset(memory.data() + kSmallRecords + 64, 0x55, 200);
  EXPECT_EQ(twins.compare(0, {100, 50, 40, 90}, store.get(), key), "");
  EXPECT_EQ(twins.had, Learned::kNothing);
  EXPECT_EQ(store->statistics().damaged, 1u);
}

}  // namespace
}  // namespace drapps::jpeg
