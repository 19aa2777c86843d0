#include "drapps/text/unicode/utf8_repair.h"

#include <gtest/gtest.h>

namespace drapps::text {
namespace {

TEST(RepairUtf8, LeavesWhatIsValid) {
  std::string out = "before";
  for (const char* text : {"", "plain ASCII of some length", "caf\xC3\xA9 \xE4\xB8\xAD \xF0\x9F\x98\x80",
                           "\xED\x9F\xBF", "\xEE\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_FALSE(repair_utf8(text, out)) << text;
  }
  EXPECT_EQ(out, "before");
}

TEST(RepairUtf8, IsPythons) {
  // What Python makes of each with errors="replace".
  const std::pair<std::string_view, const char*> cases[] = {
      {"a\xFF\xC0\x80z", "a\uFFFD\uFFFD\uFFFDz"},
      {"\xE4\xB8", "\uFFFD"},
      {"\xE4\xB8!", "\uFFFD!"},
      {"\xF0\x9F\x98", "\uFFFD"},
      {"\xF0\x9F\x98\xF0\x9F\x98\x80", "\uFFFD\U0001F600"},
      {"\xED\xA0\x80", "\uFFFD\uFFFD\uFFFD"},
      {"\xE0\x9F\xBF", "\uFFFD\uFFFD\uFFFD"},
      {"\xF4\x90\x80\x80", "\uFFFD\uFFFD\uFFFD\uFFFD"},
      {"\xC3", "\uFFFD"},
      {"12345678\x80", "12345678\uFFFD"},
  };
  for (const auto& [bytes, wanted] : cases) {
    std::string out;
    EXPECT_TRUE(repair_utf8(bytes, out));
    EXPECT_EQ(out, wanted);
  }
}

}  // namespace
}  // namespace drapps::text
