// Merging many short pretokens side by side.
//
// What one of them needs of the pair table is mostly not in a cache, and each merge waits for it. So several are merged
// in turns: while what one needs is fetched, the others go on.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "drapps/kernel/level.h"
#include "drapps/text/bpe/model.h"

namespace drapps::text {

/// What a short pretoken merges to.
struct MergedWord {
  static constexpr std::size_t kMaxIds = 15;

  std::array<TokenId, kMaxIds> ids;
  std::uint32_t tokens;  // more than kMaxIds: the ids are not here
};

/// Bytes of the longest pretoken that is merged so.
inline constexpr std::size_t kMaxWord = 32;

/// Merges pretokens of 1 to kMaxWord bytes to the ids that Merger gives; `merged` has a place for each.
using MergeWords = void (*)(const BpeModel& model, std::span<const std::string_view> words,
                            MergedWord* merged) noexcept;

/// The MergeWords of a level; all write the same.
MergeWords merge_words_of(kernel::Level level = kernel::active_level()) noexcept;

/// For merge_words.cc and its tests: the reference, one place after the other; and a level.
void merge_words_portable(const BpeModel& model, std::span<const std::string_view> words, MergedWord* merged) noexcept;
void merge_words_avx512(const BpeModel& model, std::span<const std::string_view> words, MergedWord* merged) noexcept;
/// PairTable::find(), compiled for every CPU.
std::uint32_t find_pair(const PairTable& pairs, std::uint64_t key) noexcept;

}  // namespace drapps::text
