#include "drapps/shm/item_cache.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "drapps/shm/item_testing.h"

namespace drapps {
namespace {

using namespace item_testing;

std::shared_ptr<ItemCache> items_of(std::uint64_t items, std::uint64_t budget) {
  auto cache = ItemCache::make(items, budget);
  EXPECT_TRUE(cache.ok());
  return *cache;
}

TEST(ItemCacheTest, WhatWasPublishedIsThereForEver) {
  const auto cache = items_of(10, 1 << 20);
  EXPECT_FALSE(cache->get(3));
  ASSERT_EQ(cache->claim(3), ItemClaim::kTaken);
  EXPECT_FALSE(cache->get(3)) << "it is not made yet";
  const auto room = *cache->begin(3, 5);
  ASSERT_TRUE(room && room->size() == 5);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(room->data()) % kItemAlignment, 0u);
  std::memcpy(room->data(), "hello", 5);
  EXPECT_FALSE(cache->get(3));
  ASSERT_TRUE(cache->publish(3).ok());
  EXPECT_EQ(std::memcmp(cache->get(3)->data(), "hello", 5), 0);
  EXPECT_EQ(cache->get(3)->size(), 5u);
  EXPECT_EQ(cache->claim(3), ItemClaim::kReady);
  const ItemStats stats = cache->stats();
  EXPECT_EQ(stats.kept, 1u);
  EXPECT_EQ(stats.bytes, 16u);
  EXPECT_EQ(stats.hits, 2u);
  EXPECT_EQ(stats.misses, 3u);
}

TEST(ItemCacheTest, OnlyWhoHasClaimedAnItemMayMakeIt) {
  const auto cache = items_of(4, 1 << 20);
  EXPECT_EQ(cache->begin(1, 8).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(cache->publish(1).error().code, ErrorCode::kInvalidArgument);
  ASSERT_EQ(cache->claim(1), ItemClaim::kTaken);
  EXPECT_EQ(cache->publish(1).error().code, ErrorCode::kInvalidArgument) << "there is nothing to publish";
  EXPECT_EQ(wait_for(start([&] {
              cache->abandon(1);
              return cache->claim(1) == ItemClaim::kBusy && !cache->begin(1, 8).ok() ? 0 : 1;
            })),
            0)
      << "a child is not who claimed it";
  cache->abandon(1);
  EXPECT_EQ(cache->claim(1), ItemClaim::kTaken);
  EXPECT_EQ(cache->stats().abandoned, 1u);
}

TEST(ItemCacheTest, TheBudgetIsUsedToItsLastByteAndNeverPassed) {
  const std::uint64_t budget = 200'000;
  const auto cache = items_of(2000, budget);
  std::uint64_t left = budget, kept = 0, refused = 0;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    const std::uint64_t whole = round_up(size_of(i), kItemAlignment);
    const bool fits = whole <= left;
    EXPECT_EQ(make_item(*cache, i), fits) << i << ": what is smaller may still enter";
    left -= fits ? whole : 0;
    fits ? ++kept : ++refused;
  }
  const ItemStats stats = cache->stats();
  EXPECT_GT(refused, 100u);
  EXPECT_EQ(stats.kept, kept);
  EXPECT_EQ(stats.refused, refused);
  EXPECT_EQ(stats.bytes, budget - left);
  EXPECT_EQ(kept_bytes(*cache), budget - left);
  EXPECT_LE(cache->stats().bytes, budget);
  for (std::uint64_t i = 0; i < 2000; ++i) {
    if (const auto item = cache->get(i)) {
      EXPECT_TRUE(is_whole(*item, i)) << i;
    }
  }
}

TEST(ItemCacheTest, WhatIsLargerThanTheBudgetIsRefused) {
  const auto cache = items_of(4, 100);
  EXPECT_EQ(cache->budget(), 96u);
  for (const std::uint64_t bytes : {std::uint64_t{97}, std::uint64_t{1} << 40, ~std::uint64_t{0}, std::uint64_t{0}}) {
    ASSERT_EQ(cache->claim(0), ItemClaim::kTaken);
    EXPECT_FALSE(*cache->begin(0, bytes)) << bytes;
  }
  ASSERT_EQ(cache->claim(0), ItemClaim::kTaken) << "a refusal ends the claim";
  EXPECT_TRUE(*cache->begin(0, 96));
}

TEST(ItemCacheTest, WhereTheSystemGivesNoMemoryThereIsNoRoom) {
  const auto cache = items_of(4, 1 << 20);
  const Mapping mapping = *SharedFile::attach(cache->fd())->map(0, cache->table_bytes() + cache->budget());
  const UniqueHandle fd(open(("/proc/self/fd/" + std::to_string(cache->fd())).c_str(), O_RDONLY | O_CLOEXEC));
  const SharedFile refusing = *SharedFile::attach(fd.get());
  ItemBook book(refusing, mapping.data(), reinterpret_cast<ItemHeader*>(mapping.data())->geometry);
  const Owner self{.process = ProcessName::own(), .state = kItemClaimed};
  EXPECT_FALSE(book.allocate(book.slots()[0], 5000, self));
  EXPECT_EQ(book.used(), 0u);
  EXPECT_FALSE(book.extent_of(book.slots()[0]));
  EXPECT_TRUE(make_item(*cache, 0)) << "as soon as there is some again";
}

TEST(ItemCacheTest, AbandonedBytesAreUsedAgain) {
  const auto cache = items_of(8, 8 * 4096);
  const auto occupy = [&](std::uint64_t index, std::uint64_t bytes) {
    return cache->claim(index) == ItemClaim::kTaken && cache->begin(index, bytes)->has_value();
  };
  for (std::uint64_t i = 0; i < 8; ++i) ASSERT_TRUE(occupy(i, 4096));
  const SharedFile file = *SharedFile::attach(cache->fd());
  const std::uint64_t full = file.resident();
  for (const std::uint64_t i : {1, 2, 5}) cache->abandon(i);
  EXPECT_EQ(cache->stats().bytes, 5u * 4096);
  EXPECT_EQ(file.resident(), full - 3 * 4096u) << "their pages have gone back";
  EXPECT_FALSE(occupy(1, 3 * 4096)) << "no gap is as large";
  EXPECT_TRUE(occupy(1, 2 * 4096));
  EXPECT_TRUE(occupy(2, 1000));
  EXPECT_TRUE(occupy(5, 3000));
  EXPECT_FALSE(occupy(6, 4096)) << "this process is making it";
  cache->abandon(7);
  EXPECT_TRUE(occupy(7, 4096)) << "the end has moved back";
  EXPECT_LE(cache->stats().bytes, cache->budget());
}

TEST(ItemCacheTest, AnItemThatIsBeingMadeIsWaitedFor) {
  const auto cache = items_of(4, 1 << 20);
  ASSERT_EQ(cache->claim(2), ItemClaim::kTaken);
  const pid_t child = start([&] {
    const bool busy = cache->claim(2) == ItemClaim::kBusy;
    const bool came = cache->claim(2, kPatient) == ItemClaim::kReady && is_whole(*cache->get(2), 2);
    return busy && came ? 0 : 1;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const auto room = *cache->begin(2, size_of(2));
  write_item(*room, 2, 1);
  ASSERT_TRUE(cache->publish(2).ok());
  EXPECT_EQ(wait_for(child), 0);
}

TEST(ItemCacheTest, WhatADeadProcessWasMakingIsMadeByWhoeverWaits) {
  const auto cache = items_of(4, 1 << 20);
  for (const std::uint64_t begun : {0, 1}) {
    const pid_t child = start([&] {
      if (cache->claim(begun) != ItemClaim::kTaken) return 1;
      if (begun == 1 && !*cache->begin(begun, 100'000)) return 1;
      cache->get(3);  // counted
      pause();
      return 1;
    });
    while (cache->stats().misses <= begun) std::this_thread::yield();
    EXPECT_EQ(cache->claim(begun), ItemClaim::kBusy);
    kill(child, SIGKILL);
    EXPECT_EQ(cache->claim(begun, kPatient), ItemClaim::kTaken);
    const auto room = *cache->begin(begun, size_of(begun));
    write_item(*room, begun, 1);
    ASSERT_TRUE(cache->publish(begun).ok());
    wait_for(child);
  }
  EXPECT_EQ(cache->stats().bytes, kept_bytes(*cache)) << "its bytes are no longer counted";
}

TEST(ItemCacheTest, NobodyWaitsForAMakerThatIsStopped) {
  const auto cache = items_of(4, 1 << 20);
  const pid_t child = start([&] {
    if (cache->claim(1) != ItemClaim::kTaken) return 1;
    raise(SIGSTOP);
    return *cache->begin(1, size_of(1)) && cache->publish(1).ok() ? 0 : 1;
  });
  ASSERT_EQ(waitpid(child, nullptr, WUNTRACED), child);
  EXPECT_EQ(cache->claim(1, std::chrono::hours(1)), ItemClaim::kStopped);
  EXPECT_EQ(cache->claim(2), ItemClaim::kTaken);
  kill(child, SIGCONT);
  EXPECT_EQ(wait_for(child), 0) << "its claim is still its own";
  EXPECT_EQ(cache->claim(1), ItemClaim::kReady);
}

TEST(ItemCacheTest, WhereAStoppedProcessHasTheBookThereIsNoRoom) {
  const auto cache = items_of(100, 1 << 20);
  const pid_t child = start([] {
    raise(SIGSTOP);
    return 0;
  });
  ASSERT_EQ(waitpid(child, nullptr, WUNTRACED), child);
  const Owner stopped{.process = {.pid = child, .start = process_start_time(child) & ProcessName::kStartMask},
                      .state = kItemClaimed};
  const Mapping mapping = *SharedFile::attach(cache->fd())->map(0, kItemSlotsOffset);
  ItemBookEntry& book = reinterpret_cast<ItemHeader*>(mapping.data())->book;
  book.lock = stopped.bits();
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < 100; ++i) {
    ASSERT_EQ(cache->claim(i), ItemClaim::kTaken);
    EXPECT_FALSE(*cache->begin(i, 100));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(150)) << "each waited for it";
  kill(child, SIGKILL);
  wait_for(child);
  EXPECT_TRUE(make_item(*cache, 7));
}

TEST(ItemCacheTest, WhatTheDeadHaveIsFoundWhereThereIsNoRoom) {
  const auto cache = items_of(4, 8192);
  const pid_t child = start([&] { return cache->claim(0) == ItemClaim::kTaken && *cache->begin(0, 8192) ? 0 : 1; });
  EXPECT_EQ(wait_for(child), 0);
  ASSERT_EQ(cache->claim(1), ItemClaim::kTaken);
  EXPECT_TRUE(*cache->begin(1, 8000));
}

TEST(ItemCacheTest, AHolderOfTheBookThatDiedLeavesItToTheNext) {
  const auto cache = items_of(100, 1 << 20);
  for (std::uint64_t i = 0; i < 50; ++i) ASSERT_TRUE(make_item(*cache, i));
  const pid_t child = start([] { return 0; });
  const Owner dead{.process = {.pid = child, .start = process_start_time(child) & ProcessName::kStartMask},
                   .state = kItemClaimed};
  EXPECT_EQ(wait_for(child), 0);
  const Mapping mapping = *SharedFile::attach(cache->fd())->map(0, kItemSlotsOffset);
  ItemBookEntry& book = reinterpret_cast<ItemHeader*>(mapping.data())->book;
  book.lock = dead.bits();
  book.used = 1;  // it died between two lines
  book.end = 7;
  for (std::uint64_t i = 50; i < 100; ++i) ASSERT_TRUE(make_item(*cache, i));
  EXPECT_EQ(cache->stats().bytes, kept_bytes(*cache));
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_TRUE(is_whole(*cache->get(i), i)) << i;
}

TEST(ItemCacheTest, ManyThreadsMakeEachItemOnce) {
  const auto cache = items_of(500, 1 << 22);
  std::atomic<int> count = 0;
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t i = 0; i < 500; ++i) {
          const std::uint64_t index = (i * (2 * t + 1) + t * 100) % 500;
          if (make_item(*cache, index)) ++count;
          EXPECT_TRUE(is_whole(*cache->get(index), index));
        }
      });
    }
  }
  EXPECT_EQ(count, 500);
  EXPECT_EQ(cache->stats().bytes, kept_bytes(*cache));
}

TEST(ItemCacheTest, ProcessesAttachByADescriptorAndAToken) {
  const auto cache = *ItemCache::make(10, 1 << 20, ItemKey{std::byte{7}});
  ASSERT_TRUE(make_item(*cache, 4));
  const auto other = *ItemCache::attach(getpid(), cache->fd(), cache->token());
  EXPECT_EQ(other->key(), cache->key());
  EXPECT_EQ(other->items(), 10u);
  EXPECT_TRUE(is_whole(*other->get(4), 4));
  EXPECT_EQ(other->claim(5), ItemClaim::kTaken);
  EXPECT_EQ(cache->claim(5), ItemClaim::kBusy);

  ItemToken wrong = cache->token();
  wrong[0] ^= 1;
  EXPECT_EQ(ItemCache::attach(getpid(), cache->fd(), wrong).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ItemCache::attach(getpid(), 1 << 20, cache->token()).error().code, ErrorCode::kNotFound);
  const UniqueHandle file(memfd_create("test", MFD_CLOEXEC));
  EXPECT_EQ(ItemCache::attach(getpid(), file.get(), cache->token()).error().code, ErrorCode::kInvalidArgument);
}

TEST(ItemCacheTest, OfAllProcessesOneIsTheFirst) {
  const auto cache = items_of(1, 1);
  EXPECT_FALSE(cache->asked(3));
  EXPECT_TRUE(cache->first(3));
  EXPECT_TRUE(cache->asked(3));
  EXPECT_EQ(wait_for(start([&] { return !cache->first(3) && cache->first(4) ? 0 : 1; })), 0);
  EXPECT_FALSE(cache->first(4));
}

TEST(ItemCacheTest, NumbersOutOfRangeAreErrors) {
  EXPECT_EQ(ItemCache::make(0, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ItemCache::make(~std::uint64_t{0}, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(ItemCache::make(1, ~std::uint64_t{0}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_TRUE(ItemCache::make(1, 0).ok());
}

TEST(ItemCacheTest, ATableThatWasOverwrittenGivesNothing) {
  const auto cache = items_of(3, 1 << 16);
  ASSERT_TRUE(make_item(*cache, 0));
  const Mapping mapping = *SharedFile::attach(cache->fd())->map(0, kItemSlotsOffset + kPageBytes);
  auto* const slots = reinterpret_cast<ItemSlot*>(mapping.data() + kItemSlotsOffset);
  for (const std::uint64_t offset : {std::uint64_t{1} << 50, std::uint64_t{64}, ~std::uint64_t{15}}) {
    slots[0].offset = offset;
    EXPECT_EQ(cache->get(0)->size(), 0u);
  }
  ItemBookEntry& book = reinterpret_cast<ItemHeader*>(mapping.data())->book;
  for (const std::uint64_t end : {std::uint64_t{0}, std::uint64_t{1} << 50, ~std::uint64_t{15}}) {
    book.end = book.gap = end;
    book.gap_bytes = std::uint64_t{1} << 50;
    book.reclaim_ns = ~std::uint64_t{0};
    ASSERT_EQ(cache->claim(2), ItemClaim::kTaken);
    EXPECT_FALSE(*cache->begin(2, 100));
  }
  cache->reclaim();
  slots[1].word = ~std::uint64_t{0};
  slots[1].offset = 12345;
  EXPECT_FALSE(cache->get(1));
  EXPECT_EQ(cache->claim(1), ItemClaim::kTaken) << "no such process runs";
  EXPECT_TRUE(*cache->begin(1, 100));
}

TEST(ItemCacheTest, AnEntryTakesFewBytesBesideItsOwn) {
  const auto cache = items_of(1'000'000, 1 << 20);
  EXPECT_LE(cache->table_bytes(), 64u * 1'000'000);
  EXPECT_LE(SharedFile::attach(cache->fd())->resident(), 64u * 1'000'000);
}

}  // namespace
}  // namespace drapps
