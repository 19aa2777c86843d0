#include "drapps/text/unicode/classes.h"

#include <gtest/gtest.h>

namespace drapps::text {
namespace {

TEST(CharClasses, AreThoseOfTheOracles) {
  const std::uint8_t* table = class_table();
  EXPECT_EQ(table['a'], kLetter | kLower);
  EXPECT_EQ(table['A'], kLetter | kUpper);
  EXPECT_EQ(table['7'], kNumber);
  EXPECT_EQ(table[0xBD], kNumber);  // one half
  EXPECT_EQ(table[' '], kSpace);
  EXPECT_EQ(table[0x85], kSpace);  // next line
  EXPECT_EQ(table[0x3000], kSpace);
  EXPECT_EQ(table[0x1C], 0);  // a separator to Python alone
  EXPECT_EQ(table[0x301], kMark | kUpper | kLower);
  EXPECT_EQ(table[0x4E2D], kLetter | kUpper | kLower);
  EXPECT_EQ(table[0x1F600], kPunctuation);  // a symbol
  EXPECT_EQ(table[0xE000], 0);
  EXPECT_EQ(table[0x1C89], kLetter | kUpper);  // new in Unicode 16
  EXPECT_EQ(table[0x10FFFF], 0);
}

TEST(CharClasses, RunsAscendAndChange) {
  ASSERT_FALSE(kClassRuns.empty());
  EXPECT_EQ(kClassRuns[0] >> 8, 0u);
  for (std::size_t i = 1; i < kClassRuns.size(); ++i) {
    EXPECT_LT(kClassRuns[i - 1] >> 8, kClassRuns[i] >> 8);
    EXPECT_NE(kClassRuns[i - 1] & 0xFF, kClassRuns[i] & 0xFF);
  }
}

}  // namespace
}  // namespace drapps::text
