#include "drapps/text/pretokenize/pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace drapps::text {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> matches(Pattern pattern, const std::string& text) {
  const auto* p = reinterpret_cast<const std::uint8_t*>(text.data());
  const std::uint8_t* const end = p + text.size();
  std::vector<std::string> pieces;
  while (p < end) {
    const std::uint8_t* const next = match_of(pattern)(p, end);
    pieces.emplace_back(p, next);
    p = next;
  }
  return pieces;
}

// What the regular expressions give, as the module `regex` says.
TEST(Patterns, OfGpt2) {
  const auto gpt2 = [](const std::string& text) { return matches(Pattern::kGpt2, text); };
  EXPECT_THAT(gpt2("Hello  world's 'tis\n\n x"), ElementsAre("Hello", " ", " world", "'s", " '", "tis", "\n\n", " x"));
  EXPECT_THAT(gpt2("it'S 12345 a  "), ElementsAre("it", "'", "S", " 12345", " a", "  "));
  EXPECT_THAT(gpt2("\t\tif (x)"), ElementsAre("\t", "\t", "if", " (", "x", ")"));
  EXPECT_THAT(gpt2("'s''s"), ElementsAre("'s", "''", "s"));
  EXPECT_THAT(gpt2("a\u3000b \u00E9t\u00E9"), ElementsAre("a", "\u3000", "b", " \u00E9t\u00E9"));
}

TEST(Patterns, OfCl100k) {
  const auto cl100k = [](const std::string& text) { return matches(Pattern::kCl100k, text); };
  EXPECT_THAT(cl100k("it'S 12345 (x) ((y"), ElementsAre("it", "'S", " ", "123", "45", " (", "x", ")", " ((", "y"));
  EXPECT_THAT(cl100k("a.\n\n  b\n "), ElementsAre("a", ".\n\n", " ", " b", "\n", " "));
  EXPECT_THAT(cl100k("x \n\t y\tz"), ElementsAre("x", " \n", "\t", " y", "\tz"));
  EXPECT_THAT(cl100k("don'\u017F"), ElementsAre("don", "'\u017F"));
  EXPECT_THAT(matches(Pattern::kQwen2, "123"), ElementsAre("1", "2", "3"));
}

TEST(Patterns, OfNewerTiktokenTakeTheTailAtOnce) {
  EXPECT_THAT(matches(Pattern::kCl100kTail, "a \n  \nb \n  "), ElementsAre("a", " \n  \n", "b", " \n  "));
  EXPECT_THAT(matches(Pattern::kCl100k, "b \n  "), ElementsAre("b", " \n", "  "));
}

TEST(Patterns, OfO200k) {
  const auto o200k = [](const std::string& text) { return matches(Pattern::kO200k, text); };
  EXPECT_THAT(o200k("HelloWorld it's HTMLParser"), ElementsAre("Hello", "World", " it's", " HTMLParser"));
  EXPECT_THAT(o200k("ABC\u4E2DDE \u0301AB //\n/x"), ElementsAre("ABC\u4E2D", "DE", " \u0301", "AB", " //\n/", "x"));
  EXPECT_THAT(o200k("!\u0301A 1234"), ElementsAre("!\u0301", "A", " ", "123", "4"));
}

TEST(Patterns, OfTekken) {
  const auto tekken = [](const std::string& text) { return matches(Pattern::kTekken, text); };
  EXPECT_THAT(tekken("don't STOP 2024//\n"), ElementsAre("don", "'t", " STOP", " ", "2", "0", "2", "4", "//\n"));
  EXPECT_THAT(tekken("it'S HTMLParser"), ElementsAre("it", "'S", " HTMLParser"));
}

TEST(Patterns, OfDeepSeek) {
  const auto deepseek = [](const std::string& text) { return matches(Pattern::kDeepSeek, text); };
  EXPECT_THAT(deepseek("it's (x) ((y  1234 a"),
              ElementsAre("it", "'s", " (", "x", ")", " ((", "y", "  ", "123", "4", " a"));
  EXPECT_THAT(deepseek("x\u00E9 \u4E2D\u6587\u30FB\u3042!\n\n b"),
              ElementsAre("x\u00E9", " ", "\u4E2D\u6587", "\u30FB", "\u3042", "!\n\n", " b"));
  EXPECT_THAT(deepseek("\u30FB\n\uE000\uE000a\uE000\uE000 \uE000"),
              ElementsAre("\u30FB", "\n", "\uE000", "\uE000a", "\uE000\uE000", " ", "\uE000"));
}

TEST(Patterns, OfSeveralExpressionsAreKnownTogether) {
  std::vector<std::string> regexes{
      R"(\p{N}{1,3})", "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+",
      R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|)"
      R"( ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
  EXPECT_EQ(pattern_of(regexes), Pattern::kDeepSeek);
  std::swap(regexes[0], regexes[1]);
  EXPECT_EQ(pattern_of(regexes), std::nullopt);
  EXPECT_EQ(pattern_of(std::span(regexes).first(2)), std::nullopt);
}

TEST(Patterns, AreKnownToTheLetter) {
  const std::string llama =
      R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|)"
      R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
  EXPECT_EQ(pattern_of(llama, Oracle::kTokenizers), Pattern::kCl100k);
  EXPECT_EQ(pattern_of(llama + " ", Oracle::kTokenizers), std::nullopt);
  const std::string tail =
      R"('(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|)"
      R"(\s*[\r\n]|\s+(?!\S)|\s)";
  EXPECT_EQ(pattern_of(tail, Oracle::kTiktoken), Pattern::kCl100kTail);
  EXPECT_EQ(pattern_of(tail, Oracle::kTokenizers), std::nullopt);  // there, $ is the end of a line
}

}  // namespace
}  // namespace drapps::text
