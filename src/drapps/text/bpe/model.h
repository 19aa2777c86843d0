// A byte-level BPE model: what its tokens are and how they merge.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "drapps/text/bpe/boundaries.h"
#include "drapps/text/bpe/pair_table.h"
#include "drapps/text/bpe/token_table.h"

namespace drapps::text {

/// The place of two neighbouring bytes in BpeModel::byte_pairs.
constexpr std::size_t byte_pair(char left, char right) noexcept {
  return std::size_t{static_cast<std::uint8_t>(left)} << 8 | static_cast<std::uint8_t>(right);
}

/// Immutable once made; shared by all threads.
struct BpeModel {
  /// The bytes of the tokens; `whole` looks into them.
  std::vector<char> bytes;
  /// The id of each single byte, or -1: `tokenizers` leaves such bytes out.
  std::array<TokenId, 256> byte_ids{};
  PairTable pairs;
  /// By two neighbouring bytes: the rank of their tokens' merge, or PairTable::kNone.
  std::vector<std::uint32_t> byte_pairs;
  /// By rank: what its pair becomes.
  std::vector<TokenId> merged;
  /// Tokens that a pretoken of just their bytes becomes: all of them where the model takes words whole, else those that
  /// the merges lead to.
  TokenTable whole;
  /// Whether `whole` holds only what the merges lead to, and so serves parts of pretokens too.
  bool whole_by_merges = true;
  Boundaries boundaries;
};

}  // namespace drapps::text
