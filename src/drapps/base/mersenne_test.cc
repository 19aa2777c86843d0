#include "drapps/base/mersenne.h"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <set>

namespace drapps {
namespace {

TEST(Mersenne, BeginsWithTheFirstNumbersOfSplitMix64) {
  // The first two outputs of the published generator with state 0.
  const auto words = mersenne_state(0);
  EXPECT_EQ(words[0], 0x7B1DCDAFu);
  EXPECT_EQ(words[1], 0xE220A839u);
  EXPECT_EQ(words[2], 0xA1B965F4u);
  EXPECT_EQ(words[3], 0x6E789E6Au);
}

TEST(Mersenne, NeighbouringKeysShareNoWord) {
  std::multiset<std::uint32_t> seen;
  for (std::uint64_t key = 0; key < 8; ++key) {
    for (const std::uint32_t word : mersenne_state(key)) seen.insert(word);
  }
  const std::set<std::uint32_t> distinct(seen.begin(), seen.end());
  EXPECT_GE(distinct.size() + 2, seen.size());  // 4,992 words of 2^32: a repetition is rare, two are an error
}

TEST(Mersenne, GoesOnAsTheStandardLibrarysGenerator) {
  std::mt19937 theirs(5);
  std::array<std::uint64_t, kMersenneWords> words{5};
  for (std::size_t i = 1; i < words.size(); ++i) {
    words[i] =
        1812433253u * static_cast<std::uint32_t>(words[i - 1] ^ words[i - 1] >> 30) + static_cast<std::uint32_t>(i);
    words[i] &= 0xFFFFFFFFu;
  }
  for (int round = 0; round < 3; ++round) {
    mersenne_twist(words);
    for (const std::uint64_t word : words) {
      ASSERT_EQ(mersenne_tempered(static_cast<std::uint32_t>(word)), static_cast<std::uint32_t>(theirs()));
    }
  }
}

}  // namespace
}  // namespace drapps
