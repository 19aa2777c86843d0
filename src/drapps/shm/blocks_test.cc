#include "drapps/shm/blocks.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "drapps/shm/block_arena.h"
#include "drapps/shm/testing.h"

namespace drapps {
namespace {

using shm_testing::data_of;
using shm_testing::header_of;

constexpr std::uint64_t kRegion = std::uint64_t{1} << 20;
constexpr std::uint32_t kRegions = 3;

/// Numbers near every bound, and far beyond.
std::vector<std::uint64_t> odd_numbers(const BlockRegions& memory, std::uint64_t block) {
  std::vector<std::uint64_t> all{0, 1, 63, 64, 4095, 4096, kRegion, ~std::uint64_t{0}, std::uint64_t{1} << 62, block};
  for (std::uint32_t i = 0; i <= kRegions; ++i) all.push_back(memory.region_begin(i));
  const std::size_t count = all.size();
  for (std::size_t i = 0; i < count; ++i) {
    for (const std::uint64_t step : {std::uint64_t{1}, std::uint64_t{64}, std::uint64_t{4096}}) {
      all.push_back(all[i] + step);
      all.push_back(all[i] - step);
    }
  }
  return all;
}

class BlocksTest : public ::testing::Test {
 protected:
  SharedFile file_ = *SharedFile::make("test");
  std::shared_ptr<BlockRegions> memory_ = shm_testing::make_regions(kRegions, file_, kRegion);
};

TEST_F(BlocksTest, OnlyWhatLiesWithinABlockIsGiven) {
  BlockArena arena(memory_, 1);
  const std::uint64_t block = *arena.allocate(10'000);
  const std::uint64_t room = header_of(*memory_, block).size - sizeof(BlockHeader);
  const auto data = memory_->data_at(block, 100, 200);
  ASSERT_TRUE(data.ok());
  EXPECT_EQ(data->data.data(), data_of(*memory_, block) + 100);
  EXPECT_EQ(data->data.size(), 200u);
  EXPECT_TRUE(memory_->data_at(block, 0, room).ok());
  EXPECT_TRUE(memory_->data_at(block, room, 0).ok());
  EXPECT_EQ(memory_->data_at(block, 0, room + 1).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(memory_->data_at(block, room, 1).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(memory_->data_at(block, ~std::uint64_t{0}, 2).error().code, ErrorCode::kCorrupt);
  EXPECT_EQ(memory_->data_at(block + 64, 0, 1).error().code, ErrorCode::kCorrupt);
  EXPECT_NE(memory_->data_at(0, 0, 1).error().message.find("written where it must not"), std::string::npos);
  for (const std::uint64_t odd : odd_numbers(*memory_, block)) {
    for (const std::uint64_t size : odd_numbers(*memory_, block)) {
      header_of(*memory_, block).size = size;
      if (const auto bytes = memory_->data_at(block, odd, 64); bytes.ok()) {
        EXPECT_LE(*memory_->offset_of(bytes->data.data()) + 64, memory_->region_end(1));
      }
    }
  }
}

TEST_F(BlocksTest, WhateverIsWrittenOverThemNobodyLeavesTheMemory) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    memory_->clear();
    memory_->punch(memory_->region_begin(0), memory_->region_end(kRegions - 1));
    BlockArena arena(memory_, 1);
    memory_->region(1).released = 0;
    std::vector<std::uint64_t> blocks;
    for (int i = 0; i < 8; ++i) blocks.push_back(*arena.allocate(random() % 60'000));
    const auto odd = odd_numbers(*memory_, blocks[3]);
    const auto any = [&] { return odd[random() % odd.size()]; };
    for (int i = 0; i < 4; ++i) {
      BlockHeader& header = header_of(*memory_, blocks[random() % blocks.size()]);
      switch (random() % 5) {
        case 0: header.size = any(); break;
        case 1: header.next = any(); break;
        case 2: header.holds = static_cast<std::uint32_t>(any()); break;
        case 3: memory_->region(1).end = any(); break;
        case 4: memory_->region(1).released = any(); break;
      }
      memory_->release_hold(blocks[random() % blocks.size()], random() % 2 == 0 ? kMakerHold : 1);
      memory_->release_hold(any(), kSentHold);
    }
    std::uint64_t bytes = 0;
    memory_->for_each_block(1, [&](const MappedBlock& block) {
      bytes += block.header().size;
      BlockRegions::punch_data(block);
    });
    EXPECT_LE(bytes, kRegion);
    arena.tidy();
    const auto block = arena.allocate(5'000);  // the maker believes its own books
    if (block.ok()) std::memset(data_of(*memory_, *block), 1, 5'000);
    memory_->punch_released(1);
  }
}

TEST_F(BlocksTest, AListInACircleEnds) {
  BlockArena arena(memory_, 1);
  const std::uint64_t first = *arena.allocate(1000);
  const std::uint64_t second = *arena.allocate(1000);
  const auto make_circle = [&] {
    header_of(*memory_, first).next = second;
    header_of(*memory_, second).next = first;
    memory_->region(1).released = first;
  };
  make_circle();
  memory_->punch_released(1);
  make_circle();
  arena.tidy();
  EXPECT_NE(*arena.allocate(1000), *arena.allocate(1000)) << "each once";
}

TEST_F(BlocksTest, AWalkThatLeadsOutOfTheRegionSaysSo) {
  BlockArena arena(memory_, 1);
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(arena.allocate(1000).ok());
  const auto visited = [&](std::uint32_t region) {
    int count = 0;
    const bool whole = memory_->for_each_block(region, [&](const MappedBlock&) { ++count; });
    return std::pair(whole, count);
  };
  EXPECT_EQ(visited(1), std::pair(true, 3));
  EXPECT_EQ(visited(2), std::pair(true, 0));
  header_of(*memory_, memory_->region_begin(1) + 4096).size = 0;
  EXPECT_EQ(visited(1), std::pair(false, 1));
}

}  // namespace
}  // namespace drapps
