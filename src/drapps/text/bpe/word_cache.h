// The ids of pretokens seen before.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>

#include "drapps/text/bpe/pair_table.h"

namespace drapps::text {

/// What is kept of 16 bytes to have the first few of them.
struct WordMask {
  std::uint64_t low;
  std::uint64_t high;
};
inline constexpr std::array<WordMask, 16> kWordMasks = [] {
  std::array<WordMask, 16> masks{};
  for (std::size_t size = 1; size < masks.size(); ++size) {
    masks[size].low = ~std::uint64_t{0} >> (size < 8 ? 64 - 8 * size : 0);
    masks[size].high = size > 8 ? ~std::uint64_t{0} >> (128 - 8 * size) : 0;
  }
  return masks;
}();

/// The bytes of a short pretoken, padded with zeros, its size in the last byte: equal where the pretokens are.
struct WordKey {
  static constexpr std::size_t kMaxSize = 15;

  std::uint64_t low = 0;
  std::uint64_t high = 0;

  /// Reads 16 bytes from `p`. Requires 1 <= size <= kMaxSize.
  static WordKey of(const std::uint8_t* p, std::size_t size) noexcept {
    WordKey key;
    std::memcpy(&key.low, p, 8);
    std::memcpy(&key.high, p + 8, 8);
    key.low &= kWordMasks[size].low;
    key.high = (key.high & kWordMasks[size].high) | std::uint64_t{size} << 56;
    return key;
  }
  std::uint64_t hash() const noexcept {
    const std::uint64_t mixed = (low ^ (high * 0x9FB21C651E98DF25U)) * 0x9E3779B97F4A7C15U;
    return mixed ^ mixed >> 32;
  }
  bool operator==(const WordKey&) const = default;
};

/// Short pretokens of few ids: a table of 2 MiB, two entries to a cache line, so that frequent words stay in the caches
/// next to the core. A pretoken that is not found is put in, and what was used least in its line leaves.
class WordCache {
 public:
  static constexpr std::size_t kMaxIds = 3;

  struct Entry {
    WordKey key;
    TokenId ids[kMaxIds];
    std::uint32_t size;
  };

  WordCache();

  /// Copies the ids and a word of rubbish to `out`; their number, or 0 where the pretoken is not known.
  std::size_t find(const WordKey& key, TokenId* out) const noexcept {
    const Entry* entry = line(key);
    if (entry->key != key) [[unlikely]] {
      ++entry;
      if (entry->key != key) return 0;
    }
    std::memcpy(out, entry->ids, sizeof(entry->ids) + sizeof(entry->size));
    return entry->size;
  }

  void insert(const WordKey& key, const TokenId* ids, std::size_t size) noexcept;

 private:
  static constexpr unsigned kLineBits = 15;
  static constexpr std::size_t kLines = std::size_t{1} << kLineBits;

  Entry* line(const WordKey& key) const noexcept { return entries_.get() + 2 * (key.hash() & (kLines - 1)); }

  struct Free {
    void operator()(Entry* entries) const noexcept;
  };
  std::unique_ptr<Entry[], Free> entries_;
};
static_assert(sizeof(WordCache::Entry) == 32);

}  // namespace drapps::text
