// The ids of pretokens seen before.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

#include "drapps/text/bpe/huge_array.h"
#include "drapps/text/bpe/pair_table.h"
#include "drapps/text/bpe/word_entry.h"

namespace drapps::text {

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

  /// What it knows, until it grows.
  WordSets sets() const noexcept { return {entries_.begin(), entries_.size() / 2 - 1}; }
  void insert(const WordKey& key, std::uint32_t place, const TokenId* ids, std::size_t size) noexcept;

 private:
  static constexpr std::uint32_t kStay = 8;
  static constexpr std::uint32_t kCrowd = kMemory / sizeof(WordEntry) / 2;

  HugeArray<WordEntry> entries_;
  std::uint32_t inserted_ = 0;
};

/// Longer pretokens, and those of more ids: lines of dashes, long words, words of alphabets that the vocabulary was not
/// made for. Each has one place, 128 bytes of a table of 1 MiB, and of 8 once it has grown; who comes last has it.
class PhraseCache {
 public:
  static constexpr std::size_t kMaxSize = 64;
  static constexpr std::size_t kMaxIds = 24;  // of a pretoken of as many bytes; 15 of the longest
  static constexpr std::size_t kMemory = std::size_t{1} << 20;
  static constexpr std::size_t kGrownMemory = 8 * kMemory;

  PhraseCache() : entries_(kMemory / sizeof(PhraseEntry)) {}

  /// Grows, and keeps what it has. Throws std::bad_alloc.
  void grow();

  /// Fetches what a find() of bytes with this hash soon after looks at.
  void fetch(std::uint64_t hash) const noexcept { __builtin_prefetch(&at(hash)); }
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
    std::memcpy(out, entry.bytes + ids_at(entry.size), entry.tokens * sizeof(TokenId));
    return entry.tokens;
  }

  /// Keeps them if there is room for them, and they are at least one.
  void insert(std::string_view pretoken, std::uint64_t hash, bool part, const TokenId* ids,
              std::size_t tokens) noexcept;

 private:
  struct alignas(64) PhraseEntry {
    std::uint8_t size;
    bool part;
    std::uint16_t tokens;
    char bytes[kMaxSize + 60];  // the pretoken's, then those of its ids
  };
  /// Where in an entry's bytes its ids begin.
  static constexpr std::size_t ids_at(std::size_t size) noexcept {
    constexpr std::size_t kStep = sizeof(TokenId);
    return (size + kStep - 1) / kStep * kStep;
  }
  static constexpr bool has_room(std::size_t size, std::size_t tokens) noexcept {
    return size <= kMaxSize && ids_at(size) + tokens * sizeof(TokenId) <= sizeof(PhraseEntry::bytes);
  }
  static_assert(sizeof(PhraseEntry) == 128);

  PhraseEntry& at(std::uint64_t hash) const noexcept { return entries_[hash >> 32 & (entries_.size() - 1)]; }

  HugeArray<PhraseEntry> entries_;
};

}  // namespace drapps::text
