#include "drapps/worker/board_memory.h"

#include <gtest/gtest.h>
#include <unistd.h>

namespace drapps {
namespace {

TEST(BoardMemoryTest, ImpossibleSizesAreErrors) {
  EXPECT_EQ(BoardMemory::make(0, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(BoardMemory::make(1, 0).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(BoardMemory::make(kMaxProcesses + 1, 1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(BoardMemory::make(1, 1, ~std::uint64_t{0}).error().code, ErrorCode::kInvalidArgument);
}

TEST(BoardMemoryTest, RegionsAreHalvedUntilTheyFitTheAddressSpace) {
  auto memory = BoardMemory::make(1000, 1, std::uint64_t{1} << 42);
  ASSERT_TRUE(memory.ok()) << memory.error().message;
  EXPECT_LT((*memory)->region_bytes(), std::uint64_t{1} << 42);
  EXPECT_GE((*memory)->region_bytes(), std::uint64_t{256} << 20);
}

TEST(BoardMemoryTest, OnlyTheMemoryOfABoardIsAttachedTo) {
  EXPECT_EQ(BoardMemory::attach(-1).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(BoardMemory::attach(STDERR_FILENO).error().code, ErrorCode::kInvalidArgument);
}

TEST(BoardMemoryTest, GeometryThatContradictsItselfIsNotAttachedTo) {
  const auto memory = *BoardMemory::make(2, 4, std::uint64_t{64} << 20);
  ASSERT_TRUE(BoardMemory::attach(memory->fd()).ok());
  const Geometry right = memory->header().geometry;
  auto* const words = reinterpret_cast<std::uint64_t*>(&memory->header().geometry);
  for (std::size_t i = 0; i < sizeof(Geometry) / sizeof(std::uint64_t); ++i) {
    for (const std::uint64_t change : {std::uint64_t{1}, std::uint64_t{4096}, ~std::uint64_t{0}}) {
      words[i] += change;
      EXPECT_EQ(BoardMemory::attach(memory->fd()).error().code, ErrorCode::kInvalidArgument) << i << " + " << change;
      memory->header().geometry = right;
    }
  }
}

}  // namespace
}  // namespace drapps
