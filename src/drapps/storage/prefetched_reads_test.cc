#include "drapps/storage/prefetched_reads.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "drapps/storage/emulated_storage.h"
#include "drapps/storage/shard.h"
#include "drapps/storage/testing.h"

namespace drapps {
namespace {

constexpr std::uint64_t kRange = 1000;
constexpr std::size_t kRanges = 32;

/// What is kept of one range, and what was offered.
class KeptRange final : public KeptReads {
 public:
  explicit KeptRange(std::uint64_t offset = ~std::uint64_t{0}) : offset_(offset) {}
  std::optional<Status> find(ReadRequest& /*request*/) noexcept override { return {}; }
  void keep(const ReadRequest& request) noexcept override {
    const std::scoped_lock lock(mutex_);
    waited_ += request.waited ? 1 : 0;
  }
  bool has(const Location& at) const noexcept override { return at.offset == offset_; }
  int waited() const noexcept { return waited_; }

 private:
  const std::uint64_t offset_;
  std::mutex mutex_;
  int waited_ = 0;
};

class PrefetchedReadsTest : public ::testing::Test {
 protected:
  PrefetchedReadsTest() {
    Buffer whole{MemoryLedger::unlimited()};
    shard_->set_identity(read_file(path_.c_str(), whole)->identity);
  }
  Location range(std::size_t number) const {
    return {.path = path_.c_str(), .shard = shard_.get(), .offset = number * kRange, .length = kRange};
  }
  /// What stands in a range, or why it cannot be read.
  std::string read(Storage& storage, KeptReads& kept, std::size_t number) const {
    OwnedRequest owned({range(number)});
    const Status status = FileReads(storage, &kept).read(owned.request);
    return status.ok() ? text_of(owned.request.bytes[kFirstPart]) : status.error().message;
  }
  std::string content(std::size_t number) const { return content_.substr(number * kRange, kRange); }
  static std::shared_ptr<EmulatedStorage> slow(double latency) {
    return std::make_shared<EmulatedStorage>(*Emulation::make({.schedule = {{0, {.latency = latency}}}}));
  }
  static std::uint64_t reads_of(const Storage& storage) { return storage.meter().waited.counts().count; }

  const Folder folder_;
  const std::string content_ = content_of(1, kRanges* kRange);
  const std::string path_ = folder_.put("file", content_);
  const std::shared_ptr<Shard> shard_ = std::make_shared<Shard>();
  MemoryLedger ledger_{std::size_t{1} << 30};
};

TEST_F(PrefetchedReadsTest, WhatIsPrefetchedIsReadOnceAndSeveralAtOnce) {
  const auto storage = slow(0.2);
  const auto kept = std::make_shared<KeptRange>(3 * kRange);
  PrefetchedReads prefetched(*storage, kept, ledger_, 8);
  ASSERT_EQ(prefetched.ahead(), 16u);  // of what no page cache holds
  for (std::size_t i = 0; i < 8; ++i) {
    for (int twice = 0; twice < 2; ++twice) prefetched.prefetch(range(i));
  }
  EXPECT_EQ(storage->meter().in_flight.load(), 7);  // one was kept
  std::vector<std::thread> threads;
  threads.reserve(8);
  for (std::size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] { EXPECT_EQ(read(*storage, prefetched, i), content(i)); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(reads_of(*storage), 8u);
  EXPECT_EQ(kept->waited(), 8);
  EXPECT_EQ(read(*storage, prefetched, 1), content(1));  // which is taken
  EXPECT_EQ(reads_of(*storage), 9u);
  EXPECT_EQ(ledger_.used(), 0u);
}

TEST_F(PrefetchedReadsTest, WhatComesAtOnceIsNotPrefetched) {
  PrefetchedReads prefetched(*Storage::files(), nullptr, ledger_, 4);
  EXPECT_EQ(prefetched.ahead(), 0u);
  prefetched.prefetch(range(0));
  EXPECT_EQ(ledger_.used(), 0u);
  ReadRequest waited;
  waited.waited = true;
  prefetched.keep(waited);
  EXPECT_EQ(prefetched.ahead(), 8u);
  for (std::size_t i = 0; i < kRanges && prefetched.ahead() > 0; ++i) {
    EXPECT_EQ(read(*Storage::files(), prefetched, i), content(i));
  }
  EXPECT_EQ(prefetched.ahead(), 0u);
}

TEST_F(PrefetchedReadsTest, AnErrorIsOfWhoWantsTheRange) {
  const auto storage = slow(0.001);
  PrefetchedReads prefetched(*storage, nullptr, ledger_, 4);
  prefetched.prefetch(range(0));
  prefetched.prefetch(range(2 * kRanges));  // beyond the file
  EXPECT_EQ(read(*storage, prefetched, 0), content(0));
  EXPECT_NE(read(*storage, prefetched, 2 * kRanges).find("ended while"), std::string::npos);
  EXPECT_EQ(storage->meter().failures.load(), 1u);
}

TEST_F(PrefetchedReadsTest, WithoutMemoryItIsReadWhenItIsWanted) {
  const auto storage = slow(0.001);
  MemoryLedger little(4 * kRange);
  PrefetchedReads prefetched(*storage, nullptr, little, 4);
  prefetched.prefetch(range(0));
  EXPECT_EQ(little.used(), 0u);
  EXPECT_EQ(read(*storage, prefetched, 0), content(0));
  MemoryLedger some(std::size_t{1} << 18);  // of which an eighth is for this
  PrefetchedReads another(*storage, nullptr, some, 4);
  for (std::size_t i = 0; i < kRanges; ++i) another.prefetch(range(i));
  EXPECT_GT(some.used(), 4 * kRange);
  EXPECT_LE(some.used(), (std::size_t{1} << 15) + 8 * kRange);
  for (std::size_t i = 0; i < kRanges; ++i) EXPECT_EQ(read(*storage, another, i), content(i));
}

TEST_F(PrefetchedReadsTest, WhatNobodyWantsMakesRoom) {
  const auto storage = slow(0.0001);
  MemoryLedger some(std::size_t{1} << 18);
  PrefetchedReads prefetched(*storage, nullptr, some, 4);
  for (std::size_t i = 0; i < 6; ++i) prefetched.prefetch(range(kRanges - 1 - i));
  for (int turn = 0; turn < 40; ++turn) {
    for (std::size_t i = 0; i < 4; ++i) prefetched.prefetch(range(i));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(read(*storage, prefetched, i), content(i));
  }
  const std::uint64_t before = reads_of(*storage);
  for (std::size_t i = 0; i < 8; ++i) prefetched.prefetch(range(8 + i));
  EXPECT_EQ(read(*storage, prefetched, 8), content(8));
  EXPECT_EQ(read(*storage, prefetched, kRanges - 1), content(kRanges - 1));
  EXPECT_GT(reads_of(*storage), before + 1);
}

TEST_F(PrefetchedReadsTest, ARangeTellsWhichOneComesNext) {
  const auto storage = slow(0.005);
  PrefetchedReads prefetched(*storage, nullptr, ledger_, 4);
  prefetched.prefetch(range(0), [&](std::span<const std::uint8_t> bytes) {
    EXPECT_EQ(text_of(bytes), content(0));
    prefetched.prefetch(range(7));
    throw std::bad_alloc();  // which costs nothing but what it would have announced
  });
  EXPECT_EQ(read(*storage, prefetched, 0), content(0));
  EXPECT_EQ(storage->meter().in_flight.load(), 1);
  EXPECT_EQ(read(*storage, prefetched, 7), content(7));
  EXPECT_EQ(reads_of(*storage), 2u);
}

TEST_F(PrefetchedReadsTest, ItEndsWhileRangesTellOfOthers) {
  const auto storage = slow(0.001);
  for (int round = 0; round < 50; ++round) {
    PrefetchedReads prefetched(*storage, nullptr, ledger_, 4);
    for (std::size_t i = 0; i < 8; ++i) {
      prefetched.prefetch(range(i), [&, i](auto) { prefetched.prefetch(range(8 + i)); });
    }
    std::this_thread::sleep_for(std::chrono::microseconds(100 * (round % 20)));
  }
  EXPECT_EQ(ledger_.used(), 0u);
}

TEST_F(PrefetchedReadsTest, AGreaterDepthBeginsReadsThatFailAtOnce) {
  const auto storage = slow(0.02);
  PrefetchedReads prefetched(*storage, nullptr, ledger_, 1);
  for (std::size_t i = 0; i < 8; ++i) prefetched.prefetch(range(2 * kRanges + i));  // beyond the file
  prefetched.set_depth(8);
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NE(read(*storage, prefetched, 2 * kRanges + i), "");
}

TEST_F(PrefetchedReadsTest, ItEndsAmidItsReads) {
  const auto storage = slow(0.05);
  PrefetchedReads prefetched(*storage, nullptr, ledger_, 2);
  for (std::size_t i = 0; i < kRanges; ++i) prefetched.prefetch(range(i));
  prefetched.set_depth(4);
  EXPECT_EQ(read(*storage, prefetched, 0), content(0));
}

}  // namespace
}  // namespace drapps
