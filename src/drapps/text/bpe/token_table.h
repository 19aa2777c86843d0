// From a token's bytes to its id.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string_view>

#include "drapps/text/bpe/huge_array.h"
#include "drapps/text/bpe/pair_table.h"
#include "drapps/text/bpe/word_key.h"

namespace drapps::text {

/// A flat hash table from bytes to ids. The bytes belong to others, and stay where they are while it lives.
class TokenTable {
 public:
  explicit TokenTable(std::size_t tokens = 0)
      : slots_(std::bit_ceil(2 * tokens + 2)), shift_(64 - std::countr_zero(slots_.size())) {
    std::fill(slots_.begin(), slots_.end(), TokenSlot{});
  }

  /// The last id of the same bytes counts. Requires id >= 0, and no more tokens than the table was made for.
  void insert(std::string_view bytes, TokenId id) noexcept {
    const std::uint64_t hash = hash_bytes(bytes);
    slots_[find_slot(bytes, hash)] = {bytes, static_cast<std::uint32_t>(hash), id};
  }

  /// Fetches what a find() of bytes with this hash soon after looks at first.
  void fetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&slots_[hash >> shift_]); }
  /// -1 for bytes that are no token.
  TokenId find(std::string_view bytes) const noexcept { return find(bytes, hash_bytes(bytes)); }
  /// find() where hash_bytes(bytes) is at hand.
  TokenId find(std::string_view bytes, std::uint64_t hash) const noexcept { return slots_[find_slot(bytes, hash)].id; }

 private:
  struct TokenSlot {
    std::string_view bytes;
    std::uint32_t tag = 0;  // of the hash: tells nearly all others apart
    TokenId id = -1;
  };

  std::size_t find_slot(std::string_view bytes, std::uint64_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    const auto tag = static_cast<std::uint32_t>(hash);
    std::size_t at = hash >> shift_;
    while (slots_[at].id >= 0 && (slots_[at].tag != tag || slots_[at].bytes != bytes)) at = (at + 1) & mask;
    return at;
  }

  HugeArray<TokenSlot> slots_;
  int shift_;
};

}  // namespace drapps::text
