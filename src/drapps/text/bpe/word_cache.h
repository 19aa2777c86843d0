// The ids of pretokens seen before.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "drapps/text/bpe/huge_array.h"
#include "drapps/text/bpe/pair_table.h"
#include "drapps/text/bpe/word_key.h"

namespace drapps::text {

/// A short pretoken and its ids. One of zeros is empty.
struct WordEntry {
  static constexpr std::size_t kMaxIds = 4;

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
  static constexpr int kIdBits = 24;
  static std::size_t part_first(std::uint32_t first, TokenId* out) noexcept {
    out[0] = static_cast<TokenId>(first & ((std::uint32_t{1} << kIdBits) - 1));
    return first >> kIdBits;
  }
  static_assert(kMaxMergeIds <= std::uint32_t{1} << kIdBits);
};
static_assert(sizeof(WordEntry) == 32);

/// Short pretokens of few ids: a table of 8 MiB, and of 32 once it has grown, two entries to a cache line, so that
/// frequent words stay in the caches next to the core. A pretoken that is not found is put in second place where the
/// first is taken, and once in a while what was there moves to the first: words that come early are frequent ones, and
/// stay.
class WordCache {
 public:
  static constexpr std::size_t kMaxIds = WordEntry::kMaxIds;
  static constexpr std::size_t kMemory = std::size_t{8} << 20;
  static constexpr std::size_t kGrownMemory = 4 * kMemory;

  WordCache() : entries_(kMemory / sizeof(WordEntry)) {}

  /// Whether it is small, and had so many pretokens that it forgets some that come again.
  bool crowded() const noexcept { return entries_.size() < kGrownMemory / sizeof(WordEntry) && inserted_ > kCrowd; }
  /// Grows, and keeps what it has; the places are others then. Throws std::bad_alloc.
  void grow();

  /// Where a pretoken is, if it is known. Fetches that place for a find() soon after.
  std::uint32_t place_of(const WordKey& key) const noexcept {
    const auto place = static_cast<std::uint32_t>(key.hash() & (entries_.size() / 2 - 1)) * 2;
    __builtin_prefetch(&entries_[place]);
    return place;
  }

  bool has(const WordKey& key, std::uint32_t place) const noexcept {
    return entries_[place].key.is(key) || entries_[place + 1].key.is(key);
  }
  /// Copies the ids, and rubbish up to kMaxIds, to `out`; their number, or 0 where the pretoken is not known.
  std::size_t find(const WordKey& key, std::uint32_t place, TokenId* out) const noexcept {
    const WordEntry* entry = &entries_[place];
    entry += static_cast<std::size_t>(!entry->key.is(key));  // no branch: which of the two it is cannot be foreseen
    if (!entry->key.is(key)) [[unlikely]] {
      return 0;
    }
    return entry->copy_ids(out);
  }

  void insert(const WordKey& key, std::uint32_t place, const TokenId* ids, std::size_t size) noexcept;

 private:
  static constexpr std::uint32_t kStay = 8;
  static constexpr std::uint32_t kCrowd = kMemory / sizeof(WordEntry) / 2;

  HugeArray<WordEntry> entries_;
  std::uint32_t inserted_ = 0;
};

/// Longer pretokens, and those of more ids: lines of dashes, long words, runs of Chinese. Each has one place, 128 bytes
/// of a table of 1 MiB, and of 8 once it has grown; who comes last has it.
class PhraseCache {
 public:
  static constexpr std::size_t kMaxSize = 64;
  static constexpr std::size_t kMaxIds = 15;
  static constexpr std::size_t kMemory = std::size_t{1} << 20;
  static constexpr std::size_t kGrownMemory = 8 * kMemory;

  PhraseCache() : entries_(kMemory / sizeof(PhraseEntry)) {}

  /// Grows, and keeps what it has. Throws std::bad_alloc.
  void grow();

  /// Fetches what a find() of bytes with this hash soon after looks at.
  void fetch(std::uint64_t hash) const noexcept {
    __builtin_prefetch(&at(hash));
    __builtin_prefetch(at(hash).bytes);
  }
  bool has(std::string_view pretoken, std::uint64_t hash, bool part) const noexcept {
    const PhraseEntry& entry = at(hash);
    return entry.size == pretoken.size() && entry.part == part &&
           std::memcmp(entry.bytes, pretoken.data(), pretoken.size()) == 0;
  }
  /// Copies the ids to `out`; their number, or 0 where the pretoken is not known. The same bytes as a part of a
  /// pretoken may have other ids.
  std::size_t find(std::string_view pretoken, std::uint64_t hash, bool part, TokenId* out) const noexcept {
    if (!has(pretoken, hash, part)) return 0;
    const PhraseEntry& entry = at(hash);
    std::memcpy(out, entry.ids, entry.tokens * sizeof(TokenId));
    return entry.tokens;
  }

  /// Keeps them if they are few enough, and at least one.
  void insert(std::string_view pretoken, std::uint64_t hash, bool part, const TokenId* ids,
              std::size_t tokens) noexcept;

 private:
  struct alignas(64) PhraseEntry {
    std::uint8_t size;
    bool part;
    std::uint16_t tokens;
    TokenId ids[kMaxIds];
    char bytes[kMaxSize];
  };
  static_assert(sizeof(PhraseEntry) == 128);

  PhraseEntry& at(std::uint64_t hash) const noexcept { return entries_[hash >> 32 & (entries_.size() - 1)]; }

  HugeArray<PhraseEntry> entries_;
};

}  // namespace drapps::text
