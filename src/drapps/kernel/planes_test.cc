#include "drapps/kernel/planes.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "drapps/kernel/test_picture.h"

namespace drapps::kernel {
namespace {

std::vector<std::uint8_t> random_bytes(std::size_t n) {
  std::mt19937 random(static_cast<std::uint32_t>(n));
  std::vector<std::uint8_t> bytes(n);
  for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(random());
  return bytes;
}

// Exactly sized heap blocks, so that the address sanitizer sees every byte too many.
TEST(Planes, EveryLevelSplitsJoinsReversesAndLooksUp) {
  std::array<std::uint8_t, 256> table;
  for (std::size_t i = 0; i < 256; ++i) table[i] = static_cast<std::uint8_t>(i * 167 + 13);
  for (const Level level : supported_levels()) {
    for (std::size_t n = 1; n < 200; ++n) {
      const auto three = random_bytes(3 * n), four = random_bytes(4 * n), one = random_bytes(n);
      std::vector<std::uint8_t> a(n), b(n), c(n), d(n), joined3(3 * n), joined4(4 * n), out(n);
      deinterleave3(a.data(), b.data(), c.data(), three.data(), n, level);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_TRUE(a[i] == three[3 * i] && b[i] == three[3 * i + 1] && c[i] == three[3 * i + 2]) << name_of(level);
      }
      interleave3(joined3.data(), a.data(), b.data(), c.data(), n, level);
      EXPECT_EQ(joined3, three) << name_of(level);
      deinterleave4(a.data(), b.data(), c.data(), d.data(), four.data(), n, level);
      for (std::size_t i = 0; i < n; ++i) {
        ASSERT_TRUE(a[i] == four[4 * i] && b[i] == four[4 * i + 1] && c[i] == four[4 * i + 2] &&
                    d[i] == four[4 * i + 3])
            << name_of(level);
      }
      interleave4(joined4.data(), a.data(), b.data(), c.data(), d.data(), n, level);
      EXPECT_EQ(joined4, four) << name_of(level);
      reverse(out.data(), one.data(), n, level);
      EXPECT_EQ(out, std::vector<std::uint8_t>(one.rbegin(), one.rend())) << name_of(level);
      lookup(out.data(), one.data(), n, table, level);
      for (std::size_t i = 0; i < n; ++i) ASSERT_EQ(out[i], table[one[i]]) << name_of(level);
    }
  }
}

TEST(Planes, TurnsMovePixelsAndNothingElse) {
  TestPicture in(2, 35, 71);
  in.randomize(1);
  TestPicture mirrored(2, 35, 71), upside(2, 35, 71), turned(2, 71, 35);
  flip_horizontal(mirrored.view(), in.view());
  flip_vertical(upside.view(), in.view());
  transpose(turned.view(), in.view());
  for (std::int32_t c = 0; c < 2; ++c) {
    for (std::int32_t y = 0; y < 35; ++y) {
      for (std::int32_t x = 0; x < 71; ++x) {
        const std::uint8_t pixel = in.view().row(c, y)[x];
        ASSERT_EQ(mirrored.view().row(c, y)[70 - x], pixel);
        ASSERT_EQ(upside.view().row(c, 34 - y)[x], pixel);
        ASSERT_EQ(turned.view().row(c, x)[y], pixel);
      }
    }
  }
  EXPECT_TRUE(mirrored.guards_hold() && upside.guards_hold() && turned.guards_hold());
}

TEST(Planes, PaddingMirrorsAndRepeats) {
  TestPicture in(1, 1, 3), out(1, 1, 11);
  for (std::int32_t x = 0; x < 3; ++x) in.view().row(0, 0)[x] = static_cast<std::uint8_t>(x + 1);
  const auto padded = [&](PadMode mode) {
    pad(out.view(), in.view(), 0, 4, mode, std::array<std::uint8_t, 1>{9});
    EXPECT_TRUE(out.guards_hold());
    return std::vector<int>(out.view().row(0, 0), out.view().row(0, 0) + 11);
  };
  EXPECT_EQ(padded(PadMode::kConstant), (std::vector{9, 9, 9, 9, 1, 2, 3, 9, 9, 9, 9}));
  EXPECT_EQ(padded(PadMode::kEdge), (std::vector{1, 1, 1, 1, 1, 2, 3, 3, 3, 3, 3}));
  EXPECT_EQ(padded(PadMode::kReflect), (std::vector{1, 2, 3, 2, 1, 2, 3, 2, 1, 2, 3}));
  EXPECT_EQ(padded(PadMode::kSymmetric), (std::vector{3, 3, 2, 1, 1, 2, 3, 3, 2, 1, 1}));
}

}  // namespace
}  // namespace drapps::kernel
