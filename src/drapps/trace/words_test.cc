#include "drapps/trace/words.h"

#include <gtest/gtest.h>

#include "drapps/base/histogram.h"
#include "drapps/base/philox.h"

namespace drapps::trace {
namespace {

std::vector<std::uint64_t> there_and_back(std::vector<std::uint64_t> before, const std::vector<std::uint64_t>& now,
                                          const std::vector<Coding>& codings = {}) {
  Bytes bytes;
  std::vector<std::uint64_t> written = before;
  put_words(bytes, now, written, codings);
  EXPECT_EQ(written, now);
  ByteCursor in(bytes);
  take_words(in, before, codings);
  EXPECT_TRUE(in.done());
  return before;
}

TEST(TraceWords, ComeBackAsTheyWere) {
  const std::vector<std::uint64_t> zeros(7);
  const std::vector<std::uint64_t> extremes{0, ~0ull, 1, ~0ull - 1, 1ull << 63, 0, 7};
  EXPECT_EQ(there_and_back(zeros, extremes), extremes);
  EXPECT_EQ(there_and_back(extremes, zeros), zeros);
  EXPECT_EQ(there_and_back(extremes, extremes), extremes);
  EXPECT_EQ(there_and_back({}, {}), std::vector<std::uint64_t>{});
}

TEST(TraceWords, RandomOnesComeBackInBothCodings) {
  for (std::uint64_t turn = 0; turn < 300; ++turn) {
    Draws draws({.seed = 5, .position = turn}, 1);
    std::vector<std::uint64_t> before(40), now(40);
    std::vector<Coding> codings(40);
    for (std::size_t i = 0; i < 40; ++i) {
      const std::uint64_t wide = std::uint64_t{draws.u32()} << 32 | draws.u32();
      before[i] = wide >> draws.below(64);
      now[i] = draws.below(3) == 0 ? before[i] : Histogram::upper_edge(draws.below(252)) - draws.below(2);
      codings[i] = draws.below(2) == 0 ? Coding::kEdge : Coding::kDifference;
    }
    ASSERT_EQ(there_and_back(before, now, codings), now);
  }
}

TEST(TraceWords, WhatDoesNotChangeTakesTwoBytes) {
  std::vector<std::uint64_t> words(100, 12345), before = words;
  Bytes bytes;
  put_words(bytes, words, before);
  EXPECT_EQ(bytes.size(), 2u);
}

TEST(TraceWords, EveryEdgeTakesTwoBytesAtMost) {
  const std::vector<Coding> edge{Coding::kEdge};
  for (std::size_t bucket = 1; bucket < 252; ++bucket) {
    const std::vector<std::uint64_t> now{Histogram::upper_edge(bucket)};
    std::vector<std::uint64_t> before{0};
    Bytes bytes;
    put_words(bytes, now, before, edge);
    ASSERT_LE(bytes.size(), 2u);
    ASSERT_EQ(there_and_back({0}, now, edge), now);
  }
}

TEST(TraceWords, BytesThatAreNoneFail) {
  const std::vector<Bytes> wrong{{0x00, 0x05},  // too long a run
                                 {0x00},        // cut off
                                 {0x80},        // cut off
                                 {0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x02, 0x00, 0},  // 65 bits
                                 {0x02}};                                                                // too few
  for (const Bytes& bytes : wrong) {
    std::vector<std::uint64_t> words(4);
    ByteCursor in(bytes);
    take_words(in, words);
    EXPECT_FALSE(in.ok());
  }
  std::vector<std::uint64_t> words(1);
  const std::vector<Coding> edge{Coding::kEdge};
  const Bytes no_bucket{0xFE, 0x01};  // 254 - 2
  ByteCursor in(no_bucket);
  take_words(in, words, edge);
  EXPECT_FALSE(in.ok());
}

}  // namespace
}  // namespace drapps::trace
