#include "drapps/shm/block_arena.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "drapps/shm/testing.h"

namespace drapps {
namespace {

using shm_testing::data_of;
using shm_testing::header_of;
using shm_testing::kRegionBytes;
using shm_testing::make_regions;

class ArenaTest : public ::testing::Test {
 protected:
  std::shared_ptr<BlockRegions> memory_ = make_regions(3);
  BlockArena arena_{memory_, 1};

  std::uint64_t end() const { return memory_->region(1).end.load(); }
  std::uint64_t allocate(std::uint64_t bytes) {
    const auto block = arena_.allocate(bytes);
    EXPECT_TRUE(block.ok());
    return *block;
  }
};

TEST_F(ArenaTest, SizesAreWholePagesAndLoseAtMostAnEighth) {
  EXPECT_EQ(BlockArena::block_size(1), 4096u);
  EXPECT_EQ(BlockArena::block_size(4096), 4096u);
  EXPECT_EQ(BlockArena::block_size(4097), 8192u);
  EXPECT_EQ(BlockArena::block_size(32768), 32768u);
  EXPECT_EQ(BlockArena::block_size(32769), 36864u);
  for (std::uint64_t bytes = 32769; bytes < std::uint64_t{1} << 46; bytes += bytes / 7 + 1) {
    const std::uint64_t size = BlockArena::block_size(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size - bytes, bytes / 8) << bytes;
    EXPECT_EQ(size % kPageBytes, 0u);
    EXPECT_EQ(BlockArena::block_size(size), size) << "a size is of its own class";
  }
}

TEST_F(ArenaTest, AReleasedBlockIsUsedAgainForItsSizeOnly) {
  const std::uint64_t block = allocate(100'000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(data_of(*memory_, block)) % 64, 0u);
  std::memset(data_of(*memory_, block), 1, 100'000);
  memory_->release_hold(block, kMakerHold);
  EXPECT_NE(allocate(10'000), block);
  const std::uint64_t before = end();
  EXPECT_EQ(allocate(100'001), block);
  EXPECT_EQ(end(), before);
}

TEST_F(ArenaTest, ABlockIsReleasedByTheLastOfItsHolders) {
  const std::uint64_t block = allocate(1000);
  arena_.send(block);
  header_of(*memory_, block).holds.fetch_add(2);
  memory_->release_hold(block, kMakerHold);
  memory_->release_hold(block, kMakerHold);  // not set any more: of no effect
  memory_->release_hold(block, kSentHold);
  memory_->release_hold(block, 1);
  EXPECT_NE(allocate(1000), block);
  memory_->release_hold(block, 1);
  EXPECT_EQ(allocate(1000), block);
}

TEST_F(ArenaTest, TheWalkFindsEveryBlock) {
  std::vector<std::uint64_t> blocks;
  for (std::uint64_t bytes = 1; bytes < 4 << 20; bytes = bytes * 3 + 1) blocks.push_back(allocate(bytes));
  std::vector<std::uint64_t> offsets;
  EXPECT_TRUE(memory_->for_each_block(1, [&](const MappedBlock& block) { offsets.push_back(block.offset); }));
  EXPECT_EQ(offsets, blocks);
}

TEST_F(ArenaTest, KnowsBytesThatLieInItsOwnUnsentBlocks) {
  const std::uint64_t first = allocate(10'000);
  const std::uint64_t second = allocate(10'000);
  const std::byte* data = data_of(*memory_, first);
  EXPECT_EQ(arena_.unsent_block_of({data, 10'000}), first);
  EXPECT_EQ(arena_.unsent_block_of({data + 9'999, 1}), first);
  EXPECT_EQ(arena_.unsent_block_of({data_of(*memory_, second), 1}), second);
  EXPECT_EQ(arena_.unsent_block_of({data - 1, 10}), std::nullopt) << "begins in the header";
  EXPECT_EQ(arena_.unsent_block_of({data, 20'000}), std::nullopt) << "goes on into the next block";
  EXPECT_EQ(arena_.unsent_block_of(std::as_bytes(std::span(&first, 1))), std::nullopt) << "private memory";
  arena_.send(first);
  EXPECT_EQ(arena_.unsent_block_of({data, 1}), std::nullopt);
  memory_->release_hold(second, kMakerHold);
  EXPECT_EQ(arena_.unsent_block_of({data_of(*memory_, second), 1}), std::nullopt);
}

TEST_F(ArenaTest, TooMuchIsAnErrorThatSaysWhatToDo) {
  const auto large = arena_.allocate(kRegionBytes);
  ASSERT_FALSE(large.ok());
  EXPECT_EQ(large.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(arena_.allocate(~std::uint64_t{0}).error().code, ErrorCode::kTooLarge);
  std::vector<std::uint64_t> blocks;
  for (;;) {
    const auto block = arena_.allocate(20 << 20);
    if (!block.ok()) {
      EXPECT_EQ(block.error().code, ErrorCode::kResourceExhausted);
      EXPECT_NE(block.error().message.find("drop earlier batches"), std::string::npos);
      break;
    }
    blocks.push_back(*block);
  }
  ASSERT_EQ(blocks.size(), 2u) << "of 22 MiB each";
  memory_->release_hold(blocks[0], kMakerHold);
  EXPECT_EQ(allocate(20 << 20), blocks[0]);
}

TEST(ArenaMemoryTest, SparePagesBeyondWhatIsUsedGoBackAndTheOthersStay) {
  constexpr std::uint64_t kBlock = 8 << 20;
  SharedFile file = *SharedFile::make("test");
  auto memory = make_regions(2, file, std::uint64_t{1} << 30);
  BlockArena arena(memory, 1);
  const auto fill = [&](int count) {
    std::vector<std::uint64_t> blocks;
    for (int i = 0; i < count; ++i) {
      blocks.push_back(*arena.allocate(kBlock));
      std::memset(data_of(*memory, blocks.back()), 1, kBlock);
    }
    for (const std::uint64_t block : blocks) memory->release_hold(block, kMakerHold);
  };
  fill(20);
  const std::uint64_t full = file.resident();
  EXPECT_GE(full, 20 * kBlock);
  fill(20);
  EXPECT_EQ(file.resident(), full) << "the same pages again";
  // After a long time of small needs, only the floor of spare pages stays.
  for (int i = 0; i < 600; ++i) memory->release_hold(*arena.allocate(1000), kMakerHold);
  EXPECT_LE(file.resident(), BlockArena::kSpareBytes + kBlock);
  EXPECT_GE(file.resident(), BlockArena::kSpareBytes / 2);
}

TEST(ArenaMemoryTest, AllRegionsTogetherKeepWhatWasInUseAtOnce) {
  constexpr std::uint64_t kBlock = 8 << 20;
  SharedFile file = *SharedFile::make("test");
  auto memory = make_regions(4, file, std::uint64_t{1} << 30);
  BlockArena first(memory, 1);
  BlockArena second(memory, 2);
  const auto filled = [&](BlockArena& arena) {
    std::vector<std::uint64_t> blocks;
    for (int i = 0; i < 20; ++i) {
      blocks.push_back(*arena.allocate(kBlock - sizeof(BlockHeader)));
      std::memset(data_of(*memory, blocks.back()), 1, kBlock - sizeof(BlockHeader));
    }
    return blocks;
  };
  for (const std::uint64_t block : filled(first)) memory->release_hold(block, kMakerHold);
  first.tidy();
  EXPECT_GE(file.resident(), 20 * kBlock) << "they may all be wanted again";
  const std::vector<std::uint64_t> in_use = filled(second);
  first.tidy();
  EXPECT_LE(file.resident(), 21 * kBlock + BlockArena::kSpareBytes) << "others have them now";
  for (const std::uint64_t block : in_use) {
    EXPECT_EQ(data_of(*memory, block)[kBlock / 2], std::byte{1});
    memory->release_hold(block, kMakerHold);
  }
  static_cast<void>(filled(first));
  second.tidy();
  EXPECT_LE(file.resident(), 21 * kBlock + BlockArena::kSpareBytes);
}

TEST_F(ArenaTest, BlocksAreReleasedFromAnyThreadWhileOthersAreMade) {
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([this, t] {
      for (std::uint64_t i = 0; i < 2000; ++i) {
        const auto block = arena_.allocate(i % 7 * 3000 + 8);
        ASSERT_TRUE(block.ok());
        const std::uint64_t mark = t << 32 | i;
        std::memcpy(data_of(*memory_, *block), &mark, sizeof(mark));
        header_of(*memory_, *block).holds.fetch_add(1);
        memory_->release_hold(*block, kMakerHold);
        std::uint64_t read = 0;
        std::memcpy(&read, data_of(*memory_, *block), sizeof(read));
        ASSERT_EQ(read, mark);
        memory_->release_hold(*block, 1);
      }
    });
  }
  threads.clear();
  std::uint64_t bytes = 0;
  EXPECT_TRUE(memory_->for_each_block(1, [&](const MappedBlock& block) { bytes += block.header().size; }));
  EXPECT_LE(bytes, 4u * 7 * 5 * kPageBytes * 2) << "blocks are used again";
}

}  // namespace
}  // namespace drapps
