// The ids of short pretokens that one encoder has merged, for all encoders of a tokenizer.
//
// Each encoder remembers pretokens for itself (word_cache.h), where a lookup has to wait for nobody. What it meets
// first it looks up here before it merges: several encoders have most words in common.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "drapps/base/memory_ledger.h"
#include "drapps/text/bpe/huge_array.h"
#include "drapps/text/bpe/word_entry.h"

namespace drapps::text {

/// A table that is only added to: an entry never changes once it is there, so that nobody locks. What finds no place is
/// left out: words that come early are frequent ones. Every member may be called from any thread.
class SharedWords {
 public:
  /// Bytes of the table.
  static constexpr std::size_t kMemory = std::size_t{8} << 20;

  /// @param booked  where there is one, the table is booked there; outlives this.
  explicit SharedWords(MemoryLedger* booked = nullptr) noexcept : booked_(booked) {}
  ~SharedWords();
  SharedWords(const SharedWords&) = delete;
  SharedWords& operator=(const SharedWords&) = delete;

  MemoryLedger* booked() const noexcept { return booked_; }
  /// One more encoder uses this. There is a table from the second encoder on, where there is memory for it.
  void join() noexcept;

  /// Fetches the place where a find() of the key soon after looks.
  void fetch(const WordKey& key) const noexcept {
    if (const WordEntry* const table = table_.load(std::memory_order_acquire); table != nullptr) {
      __builtin_prefetch(table + place_of(key));
    }
  }
  /// Copies the ids, and rubbish up to WordEntry::kMaxIds, to `out`; their number, or 0 where the pretoken is not here.
  std::size_t find(const WordKey& key, TokenId* out) const noexcept;
  /// Adds the ids of a pretoken, 1 to WordEntry::kMaxIds, where there is a place for them.
  void insert(const WordKey& key, const TokenId* ids, std::size_t size) noexcept;

 private:
  static constexpr std::size_t kEntries = kMemory / sizeof(WordEntry);
  static constexpr std::size_t kProbed = 4;     // places of a key: two cache lines
  static constexpr std::uint32_t kClaimed = 1;  // in the place of an entry's first id: somebody writes the entry

  static std::size_t place_of(const WordKey& key) noexcept { return key.hash() & (kEntries - kProbed); }

  MemoryLedger* const booked_;
  std::atomic<std::uint32_t> encoders_{0};
  HugeArray<WordEntry> entries_;
  std::atomic<WordEntry*> table_{nullptr};  // entries_, once they are there
};

}  // namespace drapps::text
