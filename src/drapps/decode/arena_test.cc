#include "drapps/decode/arena.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <vector>

namespace drapps {
namespace {

TEST(Arena, PiecesAreAlignedApartAndStayWhereTheyAre) {
  MemoryLedger ledger;
  Arena arena(ledger);
  std::vector<std::uint8_t*> pieces;
  std::vector<std::size_t> sizes;
  for (std::size_t size = 0; size < 300'000; size = size * 3 / 2 + 1) {
    auto* piece = static_cast<std::uint8_t*>(arena.allocate(size));
    ASSERT_NE(piece, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(piece) % kAlignment, 0u);
    std::memset(piece, static_cast<int>(pieces.size()), size + kPadding);
    pieces.push_back(piece);
    sizes.push_back(size);
  }
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    for (std::size_t at = 0; at < sizes[i]; ++at) ASSERT_EQ(pieces[i][at], i);
  }
}

TEST(Arena, TheSameDemandAfterARewindTakesNoFurtherMemory) {
  MemoryLedger ledger;
  Arena arena(ledger);
  const auto demand = [&] {
    for (int i = 0; i < 40; ++i) ASSERT_NE(arena.allocate(50'000), nullptr);
  };
  demand();
  arena.rewind();
  const std::size_t used = ledger.used();
  for (int i = 0; i < 3; ++i) {
    demand();
    arena.rewind();
    EXPECT_EQ(ledger.used(), used);
  }
  arena.reset();
  EXPECT_EQ(ledger.used(), 0u);
}

TEST(Arena, AFullLedgerIsNamedAndForgottenByTheNextRewind) {
  MemoryLedger ledger(1 << 20);
  Arena arena(ledger);
  EXPECT_EQ(arena.allocate(std::size_t{1} << 40), nullptr);
  EXPECT_TRUE(arena.exhausted());
  EXPECT_EQ(arena.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(arena.error().stage, Stage::kDecode);
  EXPECT_EQ(arena.allocate(~std::size_t{0}), nullptr);
  arena.rewind();
  EXPECT_FALSE(arena.exhausted());
  EXPECT_NE(arena.allocate(1000), nullptr);
}

}  // namespace
}  // namespace drapps
