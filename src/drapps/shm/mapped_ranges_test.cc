#include "drapps/shm/mapped_ranges.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <vector>

#include "drapps/shm/block_arena.h"
#include "drapps/shm/testing.h"

namespace drapps {
namespace {

using shm_testing::mapped_of;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Regions of a terabyte each, in a memfd of a name of their own.
class MappedRangesTest : public ::testing::Test {
 protected:
  std::string name_ = ::testing::UnitTest::GetInstance()->current_test_info()->name();
  SharedFile file_ = *SharedFile::make(name_.c_str());
  std::shared_ptr<BlockRegions> memory_ = shm_testing::make_regions(8, file_, std::uint64_t{1} << 40);

  std::uint64_t mapped() const { return mapped_of(name_).first; }
  int mappings() const { return mapped_of(name_).second; }
  BlockHandle handle(std::uint64_t block) const { return {memory_, *memory_->find(block), kMakerHold}; }
};

TEST_F(MappedRangesTest, WhatIsMappedFollowsWhatIsUsed) {
  EXPECT_LT(mapped(), kMiB);
  BlockArena arena(memory_, 1);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(arena.allocate(10'000).ok());
  EXPECT_LT(mapped(), 4 * kMiB) << "small blocks share a mapping";
  ASSERT_TRUE(arena.allocate(100 * kMiB).ok());
  EXPECT_GT(mapped(), 100 * kMiB);
  EXPECT_LT(mapped(), 120 * kMiB);
  ASSERT_TRUE(arena.allocate(kMiB / 2).ok());
  EXPECT_LE(mappings(), 4);
}

TEST_F(MappedRangesTest, ABlockThatIsKeptKeepsItsRangeAlone) {
  auto arena = std::make_unique<BlockArena>(memory_, 1);
  BlockHandle small = handle(*arena->allocate(1000));
  BlockHandle large = handle(*arena->allocate(5 * kMiB));
  ASSERT_TRUE(arena->allocate(300 * kMiB).ok());
  std::memset(small.data(), 1, 1000);
  std::memset(large.data(), 2, 5 * kMiB);
  arena.reset();
  memory_.reset();
  EXPECT_EQ(mappings(), 2);
  EXPECT_LT(mapped(), 9 * kMiB);
  EXPECT_EQ(small.data()[999], std::byte{1});
  EXPECT_EQ(large.data()[5 * kMiB - 1], std::byte{2});
  const std::uint64_t before = file_.resident();
  {
    const BlockHandle dropped = std::move(large);
  }
  EXPECT_EQ(mappings(), 1);
  EXPECT_LE(file_.resident(), before - 5 * kMiB) << "its pages go with it, whoever has the file";
  {
    const BlockHandle dropped = std::move(small);
  }
  EXPECT_EQ(mappings(), 0);
}

TEST_F(MappedRangesTest, ALargeBlockWithoutPagesIsNotMapped) {
  BlockArena arena(memory_, 1);
  std::vector<std::uint64_t> blocks;
  for (int i = 0; i < 20; ++i) blocks.push_back(*arena.allocate(8 * kMiB));
  for (const std::uint64_t block : blocks) memory_->release_hold(block, kMakerHold);
  EXPECT_GT(mapped(), 160 * kMiB);
  for (int i = 0; i < 600; ++i) memory_->release_hold(*arena.allocate(1000), kMakerHold);
  EXPECT_LE(mapped(), BlockArena::kSpareBytes + 16 * kMiB);
  for (int i = 0; i < 20; ++i) {
    const std::uint64_t block = *arena.allocate(8 * kMiB);
    std::memset(memory_->find(block)->data(), 3, 8 * kMiB);
  }
}

TEST_F(MappedRangesTest, BlocksOfAnotherProcessAreMappedAsTheyAreFound) {
  BlockArena arena(memory_, 1);
  const std::uint64_t large = *arena.allocate(50 * kMiB);
  const std::uint64_t small = *arena.allocate(100);
  std::memset(memory_->find(large)->data(), 7, 50 * kMiB);
  const SharedFile other_file = *SharedFile::attach(file_.fd());
  const RegionPlan plan = shm_testing::plan_of(8, std::uint64_t{1} << 40);
  const BlockRegions other(*file_.map(0, plan.data_offset), *SharedFile::attach(file_.fd()), plan);
  const std::uint64_t before = mapped();
  const auto bytes = other.data_at(large, 0, 50 * kMiB);
  ASSERT_TRUE(bytes.ok());
  EXPECT_EQ(bytes->data.back(), std::byte{7});
  EXPECT_TRUE(other.find(small).ok());
  EXPECT_LT(mapped(), before + 56 * kMiB);
}

TEST_F(MappedRangesTest, WhatNobodyHasGivesWayWhereAddressSpaceEnds) {
  // In a process of its own, whose limit stays with it.
  const pid_t child = fork();
  if (child == 0) {
    auto ranges = std::make_unique<MappedRanges>(*SharedFile::attach(file_.fd()));
    const auto kept = ranges->map(0, 4 * kMiB);
    bool ok = kept.ok() && shm_testing::leave_address_space(1024 * kMiB);
    for (std::uint64_t i = 1; ok && i < 40; ++i) ok = ranges->map(i * 100 * kMiB, (i + 1) * 100 * kMiB).ok();
    ok = ok && !ranges->map(0, 2048 * kMiB).ok();
    (*kept)->at(0)[0] = std::byte{1};
    _exit(ok ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST_F(MappedRangesTest, AChildDropsItsHandlesWithoutEffect) {
  BlockArena arena(memory_, 1);
  BlockHandle held = handle(*arena.allocate(1000));
  held.data()[0] = std::byte{5};
  memory_.reset();
  const pid_t child = fork();
  if (child == 0) {
    {
      const BlockHandle dropped = std::move(held);
    }
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(held.data()[0], std::byte{5});
}

TEST_F(MappedRangesTest, TheBlocksOfARangeFillItWheneverItsProcessEnds) {
  BlockArena arena(memory_, 1);
  std::vector<std::uint64_t> blocks;
  std::uint64_t small = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    const std::uint64_t bytes = i * 7919 % (600 << 10);
    blocks.push_back(*arena.allocate(bytes));
    small += bytes <= kLargestShared ? 1 : 0;
    std::uint64_t count = 0;
    ASSERT_TRUE(memory_->for_each_block(1, [&](const MappedBlock&) { ++count; })) << i;
    ASSERT_EQ(count, blocks.size());
  }
  EXPECT_GT(small, 100u);
}

}  // namespace
}  // namespace drapps
