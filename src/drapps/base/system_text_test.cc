#include "drapps/base/system_text.h"

#include <gtest/gtest.h>

namespace drapps {
namespace {

TEST(SystemText, NumbersStandAtTheStart) {
  EXPECT_EQ(leading_number("12 max"), 12u);
  EXPECT_EQ(leading_number(" \t7kB"), 7u);
  EXPECT_EQ(leading_number("18446744073709551615"), UINT64_MAX);
  for (const char* none : {"", " ", "max", "-1", "18446744073709551616"}) EXPECT_FALSE(leading_number(none)) << none;
}

TEST(SystemText, PartsAreTakenFromTheFront) {
  std::string_view text = "a::b";
  EXPECT_EQ(take_until(text, ':'), "a");
  EXPECT_EQ(take_until(text, ':'), "");
  EXPECT_EQ(take_until(text, ':'), "b");
  EXPECT_EQ(take_until(text, ':'), "");
  std::string_view line = "   8       0 sda ";
  EXPECT_EQ(take_word(line), "8");
  EXPECT_EQ(take_word(line), "0");
  EXPECT_EQ(take_word(line), "sda");
  EXPECT_EQ(take_word(line), "");
}

TEST(SystemText, FieldsHaveTheirWholeKey) {
  constexpr std::string_view kText = "MemTotalX: 1\nMemTotal:   5 kB\nnr_throttled 7\nlast";
  EXPECT_EQ(number_field(kText, "MemTotal"), 5u);
  EXPECT_EQ(number_field(kText, "nr_throttled"), 7u);
  EXPECT_FALSE(number_field(kText, "nr"));
  EXPECT_FALSE(number_field(kText, "last"));
  EXPECT_EQ(text_field(kText, "MemTotal"), "   5 kB");
}

TEST(SystemText, ListsOfCpusAreRanges) {
  EXPECT_EQ(cpu_list("\t0-2,8\n9"), (std::set<int>{0, 1, 2, 8}));
  EXPECT_EQ(cpu_list("x,3"), (std::set<int>{3}));
  EXPECT_TRUE(cpu_list("").empty());
}

}  // namespace
}  // namespace drapps
