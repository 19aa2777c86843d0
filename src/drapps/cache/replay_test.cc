// What a cache that never evicts is worth beside those that do, under the orders that loaders draw.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <deque>
#include <list>
#include <unordered_map>
#include <unordered_set>

#include "drapps/cache/store.h"
#include "drapps/source/permutation.h"

namespace drapps::cache {
namespace {

constexpr std::uint64_t kRecords = 10'000;
constexpr std::uint32_t kPasses = 12;

/// The least recently used goes.
class Lru {
 public:
  explicit Lru(std::size_t capacity) : capacity_(capacity) {}
  bool ask(std::uint64_t record) {
    const auto place = places_.find(record);
    if (place != places_.end()) {
      order_.splice(order_.begin(), order_, place->second);
      return true;
    }
    if (places_.size() == capacity_) {
      places_.erase(order_.back());
      order_.pop_back();
    }
    order_.push_front(record);
    places_[record] = order_.begin();
    return false;
  }

 private:
  std::size_t capacity_;
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

/// The oldest goes.
class Fifo {
 public:
  explicit Fifo(std::size_t capacity) : capacity_(capacity) {}
  bool ask(std::uint64_t record) {
    if (kept_.contains(record)) return true;
    if (kept_.size() == capacity_) {
      kept_.erase(order_.front());
      order_.pop_front();
    }
    kept_.insert(record);
    order_.push_back(record);
    return false;
  }

 private:
  std::size_t capacity_;
  std::deque<std::uint64_t> order_;
  std::unordered_set<std::uint64_t> kept_;
};

/// Share of hits from the second pass on.
template <class Cache>
double hits(Cache cache) {
  std::uint64_t hit_count = 0;
  for (std::uint32_t pass = 0; pass < kPasses; ++pass) {
    const Permutation order(kRecords, 5, pass);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      const bool hit = cache.ask(order.at(i));
      hit_count += pass > 0 && hit;
    }
  }
  return static_cast<double>(hit_count) / static_cast<double>(kRecords * (kPasses - 1));
}

TEST(Replay, EvictingCachesHitAsSeldomAsTheoryAndMeasurementSay) {
  struct Row {
    double capacity, lru, fifo;
  };
  for (const Row& row :
       {Row{.10, .005, .005}, {.35, .071, .082}, {.50, .154, .194}, {.65, .283, .399}, {.80, .479, .655}}) {
    const auto capacity = static_cast<std::size_t>(row.capacity * kRecords);
    const double formula = row.capacity + (1 - row.capacity) * std::log(1 - row.capacity);
    const double lru = hits(Lru(capacity));
    EXPECT_NEAR(lru, formula, 0.015);
    EXPECT_NEAR(lru, row.lru, 0.015);
    EXPECT_NEAR(hits(Fifo(capacity)), row.fifo, 0.015);
  }
}

TEST(Replay, AStoreHitsExactlyItsShare) {
  for (const double share : {.10, .35, .50, .65, .90}) {
    MemoryLedger ledger;
    Store store(ledger);
    const auto capacity = static_cast<std::uint64_t>(share * kRecords);
    const Member member = store.join(kRecords, std::size_t{1} << 30);
    store.set_budget(store.bytes() + capacity * Store::size_of(FormId::kBytes, 100));
    for (std::uint32_t pass = 0; pass < 5; ++pass) {
      const Permutation order(kRecords, 5, pass);
      std::uint64_t hit_count = 0;
      for (std::uint64_t i = 0; i < kRecords; ++i) {
        const RecordIdentity id = identity_of(std::to_string(order.at(i)));
        if (store.get({id, 1})) {
          ++hit_count;
        } else {
          store.offer({id, 1}, FormId::kBytes, 100, 1, [](auto entry) { std::memset(entry.data(), 1, entry.size()); });
        }
      }
      EXPECT_EQ(hit_count, pass == 0 ? 0 : capacity);
    }
    store.leave(member);
  }
}

}  // namespace
}  // namespace drapps::cache
