// Processes that share an ItemCache, and are killed while they write and read.
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <thread>
#include <vector>

#include "drapps/base/full_testing.h"
#include "drapps/shm/item_cache.h"
#include "drapps/shm/item_testing.h"

namespace drapps {
namespace {

using namespace item_testing;

constexpr std::uint64_t kKillItems = 60'000;
constexpr int kTornItem = 3;

/// Reads and makes items at random, for ever; the exit status where one is not whole.
int make_and_read(ItemCache& cache, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (;;) {
    const std::uint64_t index = random() % kKillItems;
    if (const auto item = cache.get(index)) {
      if (!is_whole(*item, index)) return kTornItem;
      continue;
    }
    if (cache.claim(index) != ItemClaim::kTaken) continue;
    const auto room = cache.begin(index, size_of(index));
    if (!room.ok()) return 1;
    if (!*room) continue;
    write_item(**room, index, random());
    if (random() % 8 == 0) {
      cache.abandon(index);
    } else if (!cache.publish(index).ok()) {
      return 1;
    }
  }
}

TEST(ItemCacheProcesses, FourProcessesKeepTheUnionOnceWithinTheBudget) {
  const std::uint64_t budget = 600'000;
  auto cache = *ItemCache::make(1000, budget);
  std::vector<pid_t> children;
  for (std::uint64_t worker = 0; worker < 4; ++worker) {
    children.push_back(start([&, worker] {
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const std::uint64_t index = (i * 7 + worker * 250) % 1000;
        make_item(*cache, index);
        if (cache->stats().bytes > budget) return 200;
        if (const auto item = cache->get(index); item && !is_whole(*item, index)) return kTornItem;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  const ItemStats stats = cache->stats();
  EXPECT_GT(stats.kept, 100u);
  EXPECT_GT(stats.refused, 0u);
  EXPECT_LE(stats.bytes, budget);
  EXPECT_EQ(stats.bytes, kept_bytes(*cache));
}

TEST(ItemCacheProcesses, TheSameItemIsMadeOnceByAllTogether) {
  auto cache = *ItemCache::make(200, 1 << 22);
  const SharedFile file = *[] {
    auto memory = SharedFile::make("test");
    EXPECT_TRUE(memory.ok() && memory->grow(kPageBytes).ok());
    return memory;
  }();
  const Mapping mapping = *file.map(0, kPageBytes);
  auto& count = *reinterpret_cast<std::atomic<int>*>(mapping.data());
  std::vector<pid_t> children;
  for (int worker = 0; worker < 4; ++worker) {
    children.push_back(start([&] {
      for (std::uint64_t i = 0; i < 200; ++i) {
        if (make_item(*cache, i)) ++count;
        if (!cache->get(i)) return 1;
      }
      return 0;
    }));
  }
  for (const pid_t child : children) EXPECT_EQ(wait_for(child), 0);
  EXPECT_EQ(count, 200);
}

TEST(ItemCacheProcesses, KilledAtAnyMomentTheyLeaveNothingTornAndNothingLost) {
  const int rounds = full_tests() ? 20 : 6;
  constexpr int kKillsEach = 10;
  std::mt19937_64 random(1);
  std::uint64_t seed = 0;
  for (int round = 0; round < rounds; ++round) {
    // In every other round there is room for a part of the items, so that gaps are looked for.
    const std::uint64_t budget = round % 2 == 0 ? std::uint64_t{200} << 20 : std::uint64_t{1} << 20;
    auto cache = *ItemCache::make(kKillItems, budget);
    std::vector<pid_t> workers;
    const auto add = [&] { workers.push_back(start([&, mine = ++seed] { return make_and_read(*cache, mine); })); };
    for (int i = 0; i < 3; ++i) add();
    for (int trial = 0; trial < kKillsEach; ++trial) {
      std::this_thread::sleep_for(std::chrono::microseconds(500 + random() % 4000));
      const std::size_t which = random() % workers.size();
      kill(workers[which], SIGKILL);
      EXPECT_EQ(WTERMSIG(wait_for(workers[which])), SIGKILL) << "it had ended by itself: an item was torn";
      workers.erase(workers.begin() + static_cast<std::ptrdiff_t>(which));
      add();
    }
    // Others go on, whatever the dead had: each claim is answered, and ends.
    std::uint64_t taken = 0;
    for (std::uint64_t i = 0; i < kKillItems; i += 97) {
      if (cache->claim(i) != ItemClaim::kTaken) continue;
      ++taken;
      const auto room = *cache->begin(i, size_of(i));
      if (!room) continue;
      write_item(*room, i, i);
      EXPECT_TRUE(cache->publish(i).ok());
    }
    EXPECT_GT(taken, 0u);
    for (const pid_t worker : workers) {
      kill(worker, SIGKILL);
      EXPECT_EQ(WTERMSIG(wait_for(worker)), SIGKILL);
    }
    cache->reclaim();
    EXPECT_EQ(cache->stats().bytes, kept_bytes(*cache)) << "bytes were lost";
    EXPECT_LE(cache->stats().bytes, cache->budget());
    const SharedFile file = *SharedFile::attach(cache->fd());
    EXPECT_LE(file.resident(), cache->table_bytes() + cache->budget() + kPageBytes);
    std::uint64_t count = 0;
    for (std::uint64_t i = 0; i < kKillItems; ++i) {
      if (const auto item = cache->get(i)) {
        EXPECT_TRUE(is_whole(*item, i)) << i;
        ++count;
      }
    }
    EXPECT_EQ(count, cache->stats().kept);
    EXPECT_GT(count, 0u);
    for (std::uint64_t i = 0; i < 100; ++i) {
      if (!cache->get(i)) {
        EXPECT_TRUE(make_item(*cache, i) || cache->stats().refused > 0) << i;
      }
    }
    EXPECT_EQ(cache->stats().bytes, kept_bytes(*cache));
  }
}

}  // namespace
}  // namespace drapps
