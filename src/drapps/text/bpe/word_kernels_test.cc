#include "drapps/text/bpe/word_kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "drapps/text/bpe/word_cache.h"

namespace drapps::text {
namespace {

/// A text of few different pretokens, of 1 to 20 bytes, whose end is the end of its memory.
struct CutText {
  std::vector<std::uint8_t> bytes;
  std::vector<std::uint32_t> ends;

  CutText(std::mt19937& random, std::size_t pretokens) {
    for (std::size_t i = 0; i < pretokens; ++i) {
      const std::size_t size = 1 + random() % 20;
      bytes.insert(bytes.end(), size, static_cast<std::uint8_t>("ab\0\xFF"[random() % 4]));
      ends.push_back(static_cast<std::uint32_t>(bytes.size()));
    }
    bytes.shrink_to_fit();
  }
};

/// A batch of that text whose keys and places a kernel has set, and its long pretokens.
struct LocatedBatch {
  PretokenBatch batch{};
  std::vector<std::uint32_t> long_ones;

  LocatedBatch(const CutText& text, const WordKernels& kernels, const WordSets& words) {
    batch.text = text.bytes.data();
    batch.size = text.ends.size();
    std::ranges::copy(text.ends, batch.ends.begin());
    for (std::size_t i = 0; i < batch.size; ++i) batch.is_part[i] = i % 3 == 1;
    long_ones.resize(PretokenBatch::kMost);
    long_ones.resize(kernels.locate(batch, text.bytes.data() + text.bytes.size(), words, long_ones.data()));
    for (const std::uint32_t i : long_ones) batch.keys[i] = WordKey::of_long(i), batch.places[i] = 0;
  }
};

/// What copy_known() from a pretoken on says and writes.
struct CopiedIds {
  std::size_t stopped;
  std::vector<TokenId> ids;

  CopiedIds(const PretokenBatch& batch, std::size_t from, const WordKernels& kernels, const WordSets& words)
      : ids(PretokenBatch::kMost * WordEntry::kMaxIds + WordEntry::kMaxIds) {
    TokenId* end = ids.data();
    stopped = kernels.copy_known(batch, from, words, end);
    ids.resize(static_cast<std::size_t>(end - ids.data()));
  }
};

TEST(WordKernels, LevelsAgree) {
  std::mt19937 random(7);
  WordCache cache;
  for (int round = 0; round < 300; ++round) {
    const CutText text(random, 1 + random() % (round % 2 != 0 ? 20 : PretokenBatch::kMost));
    const LocatedBatch reference(text, kWordsPortable, cache.sets());
    for (const kernel::Level level : kernel::supported_levels()) {
      const WordKernels& kernels = word_kernels(level);
      const LocatedBatch located(text, kernels, cache.sets());
      ASSERT_EQ(located.long_ones, reference.long_ones);
      for (std::size_t i = 0; i < text.ends.size(); ++i) {
        ASSERT_TRUE(located.batch.keys[i].is(reference.batch.keys[i]));
        ASSERT_EQ(located.batch.places[i], reference.batch.places[i]);
      }
      for (std::size_t from = 0; from <= text.ends.size();) {
        const CopiedIds expected(reference.batch, from, kWordsPortable, cache.sets());
        const CopiedIds copied(located.batch, from, kernels, cache.sets());
        ASSERT_EQ(copied.stopped, expected.stopped);
        ASSERT_EQ(copied.ids, expected.ids);
        from = expected.stopped + 1;
      }
    }
    const std::size_t i = random() % text.ends.size();
    if (!reference.batch.keys[i].is_short()) continue;
    const TokenId ids[] = {static_cast<TokenId>(random() % kMaxMergeIds), 0, 2, 3};
    cache.insert(reference.batch.keys[i], reference.batch.places[i], ids, 1 + random() % WordEntry::kMaxIds);
  }
}

TEST(WordKernels, LevelsAgreeWhereThereMayBeParts) {
  for (std::size_t size = 0; size < 200; ++size) {
    const std::vector<std::uint8_t> none(size, 0x80);
    for (const kernel::Level level : kernel::supported_levels()) {
      EXPECT_FALSE(word_kernels(level).has_parts(none.data(), size));
      for (const int byte : {0xE2, 0xE3, 0xE6, 0xE9, 0xEA, 0x00, 0xFF}) {
        if (size == 0) continue;
        std::vector<std::uint8_t> bytes = none;
        bytes[size * 7 / 9] = static_cast<std::uint8_t>(byte);
        EXPECT_EQ(word_kernels(level).has_parts(bytes.data(), size), byte >= 0xE3 && byte <= 0xE9) << byte;
      }
    }
  }
}

TEST(WordKernels, ALongPretokenIsNeverKnown) {
  const WordCache cache;  // whose empty entries have keys of zeros
  std::mt19937 random(1);
  const CutText text(random, 8);
  for (const kernel::Level level : kernel::supported_levels()) {
    const WordKernels& kernels = word_kernels(level);
    LocatedBatch located(text, kernels, cache.sets());
    std::ranges::fill(located.batch.keys, WordKey::of_long(0));
    EXPECT_EQ(CopiedIds(located.batch, 0, kernels, cache.sets()).stopped, 0U);
  }
}

}  // namespace
}  // namespace drapps::text
