#include "drapps/text/pretokenize/cut.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/text/unicode/utf8.h"

namespace drapps::text {
namespace {

std::vector<std::uint32_t> cut_all(Cut cut, const std::string& text, std::size_t capacity) {
  std::vector<std::uint32_t> all;
  std::vector<std::uint32_t> ends(capacity);
  std::size_t at = 0;
  while (at < text.size()) {
    const auto* from = reinterpret_cast<const std::uint8_t*>(text.data()) + at;
    const std::size_t n = cut(from, text.size() - at, ends.data(), capacity);
    if (n == 0 || n > capacity) return {};
    for (std::size_t i = 0; i < n; ++i) all.push_back(static_cast<std::uint32_t>(at) + ends[i]);
    at = all.back();
  }
  return all;
}

std::vector<std::uint32_t> one_by_one(Pattern pattern, const std::string& text) {
  std::vector<std::uint32_t> all;
  const auto* const begin = reinterpret_cast<const std::uint8_t*>(text.data());
  for (const std::uint8_t* p = begin; p < begin + text.size();) {
    p = match_of(pattern)(p, begin + text.size());
    all.push_back(static_cast<std::uint32_t>(p - begin));
  }
  return all;
}

/// Text of pieces that the patterns treat each in a way of its own.
std::string made_text(std::mt19937& random, bool ascii, std::size_t pieces) {
  static constexpr const char* kPieces[] = {" ",
                                            " ",
                                            "  ",
                                            "    ",
                                            "\n",
                                            "\n\n",
                                            "\r\n",
                                            "\t",
                                            "\v",
                                            "'s",
                                            "'T",
                                            "'ll",
                                            "'RE",
                                            "'v",
                                            "'",
                                            "''",
                                            "a",
                                            "bc",
                                            "the",
                                            "word",
                                            "ABC",
                                            "Word",
                                            "1",
                                            "23",
                                            "456",
                                            "789",
                                            "(",
                                            "((",
                                            "/",
                                            "!?",
                                            ".",
                                            "_",
                                            "-",
                                            "\x7F",
                                            "\x01",
                                            "\f",
                                            "{",
                                            "thisisalongerwordthanmost",
                                            "0123456789012",
                                            "\u00E9",
                                            "\u4E2D\u6587",
                                            "\U0001F600",
                                            "\u0301",
                                            "\u3000",
                                            "\u00A0",
                                            "\u017F",
                                            "'\u017F",
                                            "\u00BD",
                                            "\u2028",
                                            "\u0416",
                                            "\u00DF",
                                            "\u2014",
                                            "\u201C",
                                            "\u3042",
                                            "\u30FB",
                                            "\u3099",
                                            "\u3040",
                                            "\uE000",
                                            "\u200D"};
  constexpr std::size_t kAll = std::size(kPieces);
  constexpr std::size_t kAscii = 39;
  std::string text;
  for (std::size_t i = 0; i < pieces; ++i) text += kPieces[random() % (ascii ? kAscii : kAll)];
  return text;
}

TEST(Cut, IsTheSameAtEveryLevel) {
  std::mt19937 random(20261127);
  for (const Pattern pattern : kPatterns) {
    for (const kernel::Level level : kernel::supported_levels()) {
      const Cut cut = cut_of(pattern, level);
      for (int round = 0; round < 3000; ++round) {
        const std::string text = made_text(random, round % 3 != 0, 1 + random() % 150);
        ASSERT_EQ(cut_all(cut, text, kCutStep + random() % 300), one_by_one(pattern, text))
            << name_of(pattern) << " at " << kernel::name_of(level) << ": " << text;
      }
    }
  }
}

TEST(Cut, SeesEveryAsciiCharacterBesideEveryOther) {
  for (const Pattern pattern : kPatterns) {
    for (const kernel::Level level : kernel::supported_levels()) {
      const Cut cut = cut_of(pattern, level);
      for (int first = 0; first < 128; ++first) {
        std::string text;
        for (int second = 0; second < 128; ++second) {
          text += {'a', static_cast<char>(first), static_cast<char>(second), 'b', ' '};
          text += {' ', static_cast<char>(first), static_cast<char>(second), '\n', '3'};
        }
        ASSERT_EQ(cut_all(cut, text, 512), one_by_one(pattern, text)) << name_of(pattern) << ", character " << first;
      }
    }
  }
}

TEST(Cut, SeesContractionsCapitalsAndSlashesInManyOrders) {
  std::mt19937 random(20261201);
  for (const std::string_view alphabet : {"aA'", "'stlLaE ", "!/\n\r a", "'sS/\n 1aB!", "lLvVrReE'"}) {
    for (int round = 0; round < 400; ++round) {
      std::string text;
      for (std::size_t left = 1 + random() % 140; left > 0; --left) text += alphabet[random() % alphabet.size()];
      for (const Pattern pattern : kPatterns) {
        for (const kernel::Level level : kernel::supported_levels()) {
          ASSERT_EQ(cut_all(cut_of(pattern, level), text, kCutStep), one_by_one(pattern, text))
              << name_of(pattern) << ": " << text;
        }
      }
    }
  }
}

TEST(Cut, SeesNoBreakSpacesBesideOtherWhiteSpace) {
  constexpr const char* kPieces[] = {"\u00A0", "\u00A0", " ",  "\n",     "\t",     "a",
                                     "1",      "!",      "'s", "\u00A1", "\u00E0", "\u3000"};
  std::mt19937 random(20261202);
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (std::size_t left = 1 + random() % 100; left > 0; --left) text += kPieces[random() % std::size(kPieces)];
    for (const Pattern pattern : kPatterns) {
      for (const kernel::Level level : kernel::supported_levels()) {
        ASSERT_EQ(cut_all(cut_of(pattern, level), text, kCutStep), one_by_one(pattern, text))
            << name_of(pattern) << " at " << kernel::name_of(level) << ": " << text;
      }
    }
  }
}

TEST(Cut, SeesEveryLetterOfItsMasksInAWord) {
  for (const Pattern pattern : kPatterns) {
    for (const kernel::Level level : kernel::supported_levels()) {
      const Cut cut = cut_of(pattern, level);
      for (char32_t block = 0x80; block < 0xD800; block += 0x40) {
        std::string text;
        for (char32_t point = block; point < block + 0x40; ++point) {
          for (const char* const before : {" ", "a", "'", "\u4E2D"}) {
            text += before;
            append_utf8(point, text);
            text += point % 2 != 0 ? "s" : "1";
          }
        }
        ASSERT_EQ(cut_all(cut, text, 512), one_by_one(pattern, text))
            << name_of(pattern) << ", U+" << std::hex << +block;
      }
    }
  }
}

TEST(Cut, TakesLongPretokens) {
  for (const Pattern pattern : kPatterns) {
    for (const kernel::Level level : kernel::supported_levels()) {
      const Cut cut = cut_of(pattern, level);
      for (const char* piece : {"a", " ", "\n", "7", "!", "'", " \n", "\u4E2D", "a'"}) {
        std::string text;
        while (text.size() < 500) text += piece;
        for (const char* end : {"", "a", " ", "!"}) {
          ASSERT_EQ(cut_all(cut, text + end, kCutStep), one_by_one(pattern, text + end)) << name_of(pattern) << piece;
        }
      }
    }
  }
}

}  // namespace
}  // namespace drapps::text
