#include "drapps/text/json_digest.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace drapps::text {
namespace {

TEST(JsonDigest, HowADocumentIsWrittenDoesNotCount) {
  const auto wanted = digest_of_json(R"({"a": [1, -2, 0.5, true, null], "b": {"c": "é\n", "d": {}}})");
  ASSERT_TRUE(wanted.has_value());
  EXPECT_EQ(digest_of_json(R"({"b":{"d":{},"c":"\u00e9\u000A"},"a":[1,-2,5e-1,true,null]})"), wanted);
  EXPECT_EQ(digest_of_json(R"({"a": 7, "b": {"d": {}, "c": "é\n"}, "a": [1, -2, 0.5, true, null]})"), wanted)
      << "the last of members of one name is the one that counts";
}

TEST(JsonDigest, WhatADocumentSaysCounts) {
  std::set<std::uint64_t> seen;
  const std::string all[] = {"1",
                             "-1",
                             "1.0",
                             "18446744073709551615",
                             "true",
                             "false",
                             "null",
                             "\"1\"",
                             "\"\"",
                             "[]",
                             "{}",
                             "[[]]",
                             "[[], []]",
                             "[[[]]]",
                             R"(["ab"])",
                             R"(["a", "b"])",
                             R"(["b", "a"])",
                             R"({"a":1})",
                             R"({"b":1})",
                             R"({"a": "b"})",
                             R"({"a": {"b": 1}})",
                             R"([{"a": 1}])",
                             R"({"a": 1, "b": 2})",
                             R"({"a": 2, "b": 1})"};
  for (const std::string& each : all) {
    const auto digest = digest_of_json(each);
    ASSERT_TRUE(digest.has_value()) << each;
    EXPECT_TRUE(seen.insert(*digest).second) << each;
  }
}

TEST(JsonDigest, WhatIsNotReadHasNone) {
  for (const char* const each : {"", "{", "[1,]", "\"\\ud800\"", "\"\xff\"", "123456789012345678901234567890"}) {
    EXPECT_EQ(digest_of_json(each), std::nullopt) << each;
  }
  EXPECT_EQ(digest_of_json(std::string(100'000, '[')), std::nullopt);
}

}  // namespace
}  // namespace drapps::text
