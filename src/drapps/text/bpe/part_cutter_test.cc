#include "drapps/text/bpe/part_cutter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace drapps::text {
namespace {

const std::uint8_t* bytes_of(const std::string& text) { return reinterpret_cast<const std::uint8_t*>(text.data()); }

/// Some characters, or bytes of them, at random.
std::string made_text(std::mt19937& random, std::size_t characters) {
  static const std::vector<std::string> kCharacters = {"a",  " ",  "é",  "я",  "ก",  "、", "。", "中", "文", "語",
                                                       "か", "な", "カ", "，", "！", "한", "글", "😀", "“",  "—"};
  std::string text;
  for (std::size_t i = 0; i < characters; ++i) text += kCharacters[random() % kCharacters.size()];
  return text;
}

/// Where a text ends pieces, and which of these are parts.
struct PartsOfText {
  std::vector<std::uint32_t> ends;
  std::vector<bool> is_part;
};

/// The definition: one character after the other.
PartsOfText expected(const Boundaries& boundaries, const std::string& text, const std::vector<std::uint32_t>& ends) {
  const auto takes_three = [](std::uint8_t lead) { return lead >= 0xE2 && lead < 0xF0; };
  PartsOfText all;
  bool part_before = false;
  std::uint32_t at = 0;
  const std::uint8_t* const end = bytes_of(text) + text.size();
  for (const std::uint32_t pretoken_end : ends) {
    while (at < pretoken_end) {
      const CharBytes left = CharBytes::at(bytes_of(text) + at, end);
      at += left.size;
      bool part = false;
      if (at < pretoken_end) {
        const CharBytes right = CharBytes::at(bytes_of(text) + at, end);
        part = takes_three(static_cast<std::uint8_t>(left.bytes)) &&
               takes_three(static_cast<std::uint8_t>(right.bytes)) && !boundaries.crossed(left, right);
        if (!part) continue;
      }
      all.ends.push_back(at);
      all.is_part.push_back(part || part_before);
      part_before = part;
    }
  }
  return all;
}

PartsOfText given(const Boundaries& boundaries, const std::string& text, const std::vector<std::uint32_t>& ends) {
  PartCutter cutter(boundaries);
  const auto batch = std::make_unique<PretokenBatch>();
  batch->text = bytes_of(text);
  batch->size = ends.size();
  std::ranges::copy(ends, batch->ends.begin());
  cutter.take(*batch);
  PartsOfText all;
  std::uint32_t before = 0;
  while (!cutter.empty()) {
    cutter.give(*batch);
    if (batch->size == 0) {
      ADD_FAILURE() << "a batch of nothing";
      break;
    }
    for (std::size_t i = 0; i < batch->size; ++i) {
      all.ends.push_back(before + batch->ends[i]);
      all.is_part.push_back(batch->is_part[i]);
    }
    batch->text += batch->ends[batch->size - 1];
    before = all.ends.back();
  }
  return all;
}

/// Tokens of a few characters, some without the first or last bytes of these.
std::vector<std::string> made_tokens(std::mt19937& random) {
  std::vector<std::string> tokens;
  for (int i = 0; i < 60; ++i) {
    std::string token = made_text(random, 2 + random() % 2);
    if (random() % 3 == 0) token.erase(0, 1);
    if (random() % 3 == 0) token.pop_back();
    tokens.push_back(std::move(token));
  }
  return tokens;
}

TEST(PartCutter, CutsWhereTheDefinitionDoes) {
  std::mt19937 random(11);
  std::size_t parts = 0;
  for (int round = 0; round < 300; ++round) {
    const std::vector<std::string> tokens = made_tokens(random);
    std::vector<TokenBytes> views;
    for (const std::string& token : tokens) views.push_back({token, 0});
    const Boundaries boundaries(round % 5 != 0 ? views : std::vector<TokenBytes>{});
    std::string text;
    std::vector<std::uint32_t> ends;
    const std::size_t pretokens = 1 + random() % PretokenBatch::kMost;
    while (ends.size() < pretokens) {
      text += made_text(random, round % 7 != 0 ? 1 + random() % 12 : 1 + random() % 2000);
      ends.push_back(static_cast<std::uint32_t>(text.size()));
    }
    text.shrink_to_fit();
    const PartsOfText wanted = expected(boundaries, text, ends);
    const PartsOfText cut = given(boundaries, text, ends);
    ASSERT_EQ(cut.ends, wanted.ends);
    ASSERT_EQ(cut.is_part, wanted.is_part);
    parts += wanted.ends.size() - ends.size();
  }
  EXPECT_GT(parts, 100000U);
}

}  // namespace
}  // namespace drapps::text
