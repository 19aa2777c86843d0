// Which two neighbouring tokens merge, into what, and how early.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "drapps/text/bpe/huge_array.h"

namespace drapps::text {

using TokenId = std::int32_t;

/// Ids of tokens that merge are below this, and so are ranks.
inline constexpr std::uint32_t kMaxMergeIds = 1 << 20;
inline constexpr std::uint32_t kMaxRanks = 1 << 22;

/// A hash table from two neighbouring tokens to the rank of their merge; lower ranks merge first. A pair and its rank
/// are one word, eight of them a cache line, half of which are empty. Looking a pair up goes over its line without a
/// branch, because whether two tokens merge cannot be foreseen.
class PairTable {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  explicit PairTable(std::size_t pairs = 0)
      : lines_(std::bit_ceil(pairs / 4 + 2)), shift_(64 - std::countr_zero(lines_.size())) {
    std::fill(lines_.begin(), lines_.end(), Line{});
  }

  /// Requires ids and ranks below the limits, and no more pairs than the table was made for. A pair's last rank counts.
  void insert(TokenId left, TokenId right, std::uint32_t rank) noexcept {
    const std::uint64_t key = key_of(left, right);
    for (std::size_t at = line_of(key);; at = (at + 1) & (lines_.size() - 1)) {
      for (std::uint64_t& word : lines_[at].words) {
        if (word != kEmpty && word >> kRankBits != key >> kRankBits) continue;
        word = key | rank;
        return;
      }
    }
  }

  /// What a kernel looks a pair up with: where one of these words lies less than kMaxRanks above the pair's key, the
  /// difference is its rank. Where none does and the last word is not empty, only find() knows.
  static constexpr int kWords = 8;
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};  // the key of ids that no token has
  static std::uint64_t key_of(TokenId left, TokenId right) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << (kIdBits + kRankBits) |
           std::uint64_t{static_cast<std::uint32_t>(right)} << kRankBits;
  }
  const std::uint64_t* words_of(std::uint64_t key) const noexcept { return lines_[line_of(key)].words; }

  /// Fetches what a find() soon after looks at.
  void fetch(TokenId left, TokenId right) const noexcept { __builtin_prefetch(&lines_[line_of(key_of(left, right))]); }
  /// kNone where the two do not merge.
  std::uint32_t find(TokenId left, TokenId right) const noexcept { return find(key_of(left, right)); }
  std::uint32_t find(std::uint64_t key) const noexcept {
    for (std::size_t at = line_of(key);; at = (at + 1) & (lines_.size() - 1)) {
      const Line& line = lines_[at];
      std::uint64_t least = kEmpty;  // a word of this pair is its rank above the key; all others are far from it
      for (const std::uint64_t word : line.words) least = std::min(least, word - key);
      if (least < kMaxRanks) return static_cast<std::uint32_t>(least);
      if (line.words[kWords - 1] == kEmpty) [[likely]] {
        return kNone;
      }
    }
  }

 private:
  static constexpr int kRankBits = 22;
  static_assert(kMaxRanks == std::uint64_t{1} << kRankBits);
  static constexpr int kIdBits = 21;
  struct alignas(64) Line {
    std::uint64_t words[kWords] = {kEmpty, kEmpty, kEmpty, kEmpty, kEmpty, kEmpty, kEmpty, kEmpty};
  };

  std::size_t line_of(std::uint64_t key) const noexcept {
    const std::uint64_t mixed = (key ^ key >> 31) * 0x9E3779B97F4A7C15U;
    return mixed >> shift_;
  }

  HugeArray<Line> lines_;
  int shift_;
};

}  // namespace drapps::text
