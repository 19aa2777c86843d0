// A pretoken and its ids, and how a table of such is looked into.
#pragma once

#include <cstdint>
#include <cstring>

#include "drapps/text/bpe/pair_table.h"
#include "drapps/text/bpe/word_key.h"

namespace drapps::text {

/// A short pretoken and its ids. One of zeros is empty.
struct WordEntry {
  static constexpr std::size_t kMaxIds = 4;
  static constexpr int kIdBits = 24;

  WordKey key;
  std::uint32_t ids[kMaxIds];  // in the first one, above kIdBits, how many they are

  static WordEntry of(const WordKey& key, const TokenId* ids, std::size_t size) noexcept;
  bool empty() const noexcept { return ids[0] == 0; }
  /// Copies the ids, and rubbish up to kMaxIds, to `out`; their number.
  std::size_t copy_ids(TokenId* out) const noexcept {
    std::memcpy(out, ids, sizeof(ids));
    return part_first(ids[0], out);
  }
  /// copy_ids() where the first of `ids` has been read as `first`, and is not to be read again.
  std::size_t copy_ids(std::uint32_t first, TokenId* out) const noexcept {
    std::memcpy(out + 1, ids + 1, sizeof(ids) - sizeof(ids[0]));
    return part_first(first, out);
  }

 private:
  static std::size_t part_first(std::uint32_t first, TokenId* out) noexcept {
    out[0] = static_cast<TokenId>(first & ((std::uint32_t{1} << kIdBits) - 1));
    return first >> kIdBits;
  }
  static_assert(kMaxMergeIds <= std::uint32_t{1} << kIdBits);
};
static_assert(sizeof(WordEntry) == 32);

/// A view of a table of words, two entries to a cache line.
struct WordSets {
  const WordEntry* entries;
  std::uint64_t mask;  // lines, less one

  /// Where a pretoken is, if it is known. Fetches that place for a find() soon after.
  std::uint32_t place_of(const WordKey& key) const noexcept {
    const auto place = static_cast<std::uint32_t>(key.hash() & mask) * 2;
    __builtin_prefetch(entries + place);
    return place;
  }
  bool has(const WordKey& key, std::uint32_t place) const noexcept {
    return entries[place].key.is(key) || entries[place + 1].key.is(key);
  }
  /// Copies the ids, and rubbish up to WordEntry::kMaxIds, to `out`; their number, or 0 where it is not known.
  std::size_t find(const WordKey& key, std::uint32_t place, TokenId* out) const noexcept {
    const WordEntry* entry = entries + place;
    entry += static_cast<std::size_t>(!entry->key.is(key));  // no branch: which of the two it is cannot be foreseen
    return entry->key.is(key) ? entry->copy_ids(out) : 0;
  }
};

}  // namespace drapps::text
