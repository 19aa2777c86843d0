#include "drapps/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace drapps {
namespace {

bool is_nan(std::uint16_t half) { return (half & 0x7FFF) > 0x7C00; }

TEST(Half, EveryFloat16IsItselfAgain) {
  for (std::uint32_t bits = 0; bits <= 0xFFFF; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = from_float16(half);
    if (is_nan(half)) {
      EXPECT_TRUE(std::isnan(value));
      EXPECT_TRUE(is_nan(to_float16(value)));
    } else {
      EXPECT_EQ(to_float16(value), half) << value;
    }
  }
}

/// Neighbours, their middle, and what lies beside it, by the definition of a rounding: no number is computed here that
/// the float does not hold exactly.
TEST(Half, WhatLiesBetweenGoesToTheNearestAndTiesToTheEvenOne) {
  for (std::uint16_t low = 0; low < 0x7BFF; ++low) {
    const auto high = static_cast<std::uint16_t>(low + 1);
    const float middle = (from_float16(low) + from_float16(high)) / 2;
    EXPECT_EQ(to_float16(middle), low % 2 == 0 ? low : high);
    EXPECT_EQ(to_float16(std::nextafter(middle, 0.0F)), low);
    EXPECT_EQ(to_float16(std::nextafter(middle, 1e9F)), high);
    EXPECT_EQ(to_float16(-middle), 0x8000 | (low % 2 == 0 ? low : high));
  }
}

TEST(Half, WhatIsTooLargeIsInfinite) {
  EXPECT_EQ(from_float16(0x7BFF), 65504.0F);
  EXPECT_EQ(to_float16(std::nextafter(65520.0F, 0.0F)), 0x7BFF);
  EXPECT_EQ(to_float16(65520.0F), 0x7C00);
  EXPECT_EQ(to_float16(-3e38F), 0xFC00);
  EXPECT_EQ(to_float16(std::numeric_limits<float>::infinity()), 0x7C00);
  EXPECT_EQ(to_float16(std::numeric_limits<float>::denorm_min()), 0);
  EXPECT_EQ(from_float16(0xFC00), -std::numeric_limits<float>::infinity());
}

TEST(Half, Bfloat16IsTheUpperHalfOfAFloatRounded) {
  EXPECT_EQ(to_bfloat16(1.0F + 0x1p-8F), 0x3F80);  // half-way: 1 is the even one
  EXPECT_EQ(to_bfloat16(1.0F + 3 * 0x1p-8F), 0x3F82);
  EXPECT_EQ(from_bfloat16(0x3F81), 1.0F + 0x1p-7F);
}

}  // namespace
}  // namespace drapps
