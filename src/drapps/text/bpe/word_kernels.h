// What is done with each pretoken: finding its place in the table of words, and copying its ids from there.
#pragma once

#include <cstdint>

#include "drapps/kernel/level.h"
#include "drapps/text/bpe/pretoken_batch.h"
#include "drapps/text/bpe/word_entry.h"

namespace drapps::text {

/// One set of functions per SIMD level; all do the same.
struct WordKernels {
  /// Whether one of the bytes is in the range that PartCutter has for its texts.
  bool (*has_parts)(const std::uint8_t* text, std::size_t size) noexcept;
  /// Sets the keys and places of a batch whose ends are known, and fetches the places. The text goes on to `end`.
  /// Writes the numbers of long ones, whose keys are rubbish, to `long_ones`; returns how many they are.
  std::size_t (*locate)(PretokenBatch& batch, const std::uint8_t* end, const WordSets& words,
                        std::uint32_t* long_ones) noexcept;
  /// Copies the ids of pretokens from `number` on to `out`, which becomes their end, and rubbish up to
  /// WordEntry::kMaxIds behind them; returns the number of the first one that is not known, or the batch's size.
  std::size_t (*copy_known)(const PretokenBatch& batch, std::size_t number, const WordSets& words,
                            TokenId*& out) noexcept;
};

const WordKernels& word_kernels(kernel::Level level = kernel::active_level()) noexcept;

extern const WordKernels kWordsPortable;  // the reference: one pretoken after the other
extern const WordKernels kWordsAvx512;

}  // namespace drapps::text
