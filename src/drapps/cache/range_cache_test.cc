#include "drapps/cache/range_cache.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "drapps/cache/store.h"
#include "drapps/storage/emulated_storage.h"
#include "drapps/storage/testing.h"

namespace drapps::cache {
namespace {

class RangeCacheTest : public ::testing::Test {
 protected:
  RangeCacheTest() { write("0123456789"); }

  void write(const std::string& content) const {
    folder_.put("file", content);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // until its attributes tell what stands in it
  }
  /// What stands in the file, or why it cannot be read.
  std::string read(Storage& storage, KeptReads& kept) const {
    OwnedRequest owned(path_);
    const Status status = FileReads(storage, &kept).read(owned.request);
    if (!status.ok()) return status.error().message;
    const auto bytes = owned.request.bytes[kFirstPart];
    EXPECT_EQ(bytes.data(), owned.image.data());
    EXPECT_EQ(owned.request.identity[kFirstPart].size, bytes.size());
    return text_of(bytes);
  }

  const Folder folder_;
  const std::string path_ = folder_.path("file");
  MemoryLedger account_{std::size_t{1} << 20};
  Store store_{account_};
};

TEST_F(RangeCacheTest, WhatWasReadIsNotReadAgainUntilItsFileChanges) {
  const auto slow = std::make_shared<EmulatedStorage>(*Emulation::make({.schedule = {{0, {.latency = 0.001}}}}));
  RangeCache cache(store_, slow, {.budget = 1 << 16, .always = false});
  cache.begin_pass();
  EXPECT_EQ(read(*slow, cache), "0123456789");
  const std::uint64_t bytes = slow->meter().bytes.load();
  EXPECT_EQ(read(*slow, cache), "0123456789");
  EXPECT_EQ(slow->meter().bytes.load(), bytes);
  EXPECT_EQ(cache.hits(), 1u);
  write("abc");
  EXPECT_EQ(read(*slow, cache), "abc");
  EXPECT_EQ(read(*slow, cache), "abc");
  EXPECT_EQ(cache.hits(), 2u);
  std::filesystem::remove(path_);
  EXPECT_NE(read(*slow, cache).find("No such file"), std::string::npos);
}

TEST_F(RangeCacheTest, WhatThePageCacheHoldsIsKeptWhereThatWasAskedFor) {
  for (const bool always : {false, true}) {
    RangeCache cache(store_, Storage::files(), {.budget = 1 << 16, .always = always});
    for (int pass = 0; pass < 3; ++pass) {
      cache.begin_pass();
      EXPECT_EQ(read(*Storage::files(), cache), "0123456789");
    }
    EXPECT_EQ(cache.hits(), always ? 2u : 0u);
  }
}

TEST_F(RangeCacheTest, WithoutRoomNothingIsKept) {
  RangeCache cache(store_, Storage::files(), {.budget = 16, .always = true});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(read(*Storage::files(), cache), "0123456789");
  EXPECT_EQ(cache.hits(), 0u);
}

}  // namespace
}  // namespace drapps::cache
