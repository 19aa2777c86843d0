#include "drapps/text/splitter.h"

#include <gtest/gtest.h>

namespace drapps::text {
namespace {

TEST(Splitter, FindsTheLeftmostAndLongest) {
  const Splitter splitter({"<|a|>", "<|ab|>", "<|a", "xy"});
  const auto match = splitter.find("1 <|a|> <|ab|> xy", 0, nullptr);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->begin, 2u);
  EXPECT_EQ(match->end, 7u);
  EXPECT_EQ(match->string, 0u);
  EXPECT_EQ(splitter.find("1 <|a|> <|ab|> xy", 7, nullptr)->string, 1u);
  EXPECT_EQ(splitter.find("<|ab|", 0, nullptr)->string, 2u);
  EXPECT_EQ(splitter.find("xxy", 0, nullptr)->begin, 1u);
  EXPECT_FALSE(splitter.find("<| x", 0, nullptr));
  EXPECT_FALSE(splitter.find("", 0, nullptr));
}

TEST(Splitter, SeesOnlyWhatIsWanted) {
  const Splitter splitter({"<a>", "<b>"});
  const std::vector<bool> wanted{false, true};
  EXPECT_EQ(splitter.find("<a><b>", 0, &wanted)->begin, 3u);
  EXPECT_FALSE(splitter.find("<a><a>", 0, &wanted));
  EXPECT_FALSE(Splitter().find("<a>", 0, nullptr));
}

}  // namespace
}  // namespace drapps::text
