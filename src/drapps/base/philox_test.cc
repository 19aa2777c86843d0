#include "drapps/base/philox.h"

#include <gtest/gtest.h>

#include <set>

namespace drapps {
namespace {

// Known answers of Random123 (kat_vectors, philox4x32 10).
TEST(Philox, GivesTheKnownAnswers) {
  using Words = std::array<std::uint32_t, 4>;
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox4x32({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Draws, EveryPartOfTheCoordinateMatters) {
  std::set<std::uint32_t> first;
  const auto draw = [&](std::uint64_t seed, std::uint32_t epoch, std::uint64_t position, std::uint16_t ordinal) {
    first.insert(Draws({seed, epoch, position}, ordinal).u32());
  };
  draw(0, 0, 0, 1);
  draw(1, 0, 0, 1);
  draw(std::uint64_t{1} << 32, 0, 0, 1);
  draw(0, 1, 0, 1);
  draw(0, 0, 1, 1);
  draw(0, 0, std::uint64_t{1} << 32, 1);
  draw(0, 0, 0, 2);
  EXPECT_EQ(first.size(), 7u);
}

TEST(Draws, TheStreamIsAFunctionOfTheCoordinateAlone) {
  Draws a({5, 6, 7}, 8);
  Draws b({5, 6, 7}, 8);
  std::set<std::uint32_t> seen;
  for (int i = 0; i < 1000; ++i) {
    const std::uint32_t word = a.u32();
    EXPECT_EQ(word, b.u32());
    seen.insert(word);
  }
  EXPECT_GE(seen.size(), 999u);
}

TEST(Draws, BelowIsUniform) {
  Draws draws({1, 2, 3}, 4);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70'000; ++i) ++counts[draws.below(7)];
  double chi2 = 0;
  for (const int count : counts) chi2 += (count - 10'000.0) * (count - 10'000.0) / 10'000.0;
  EXPECT_LT(chi2, 22.46);  // 6 degrees of freedom, p = 0.001
}

}  // namespace
}  // namespace drapps
