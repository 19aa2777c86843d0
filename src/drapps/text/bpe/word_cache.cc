#include "drapps/text/bpe/word_cache.h"

#include <algorithm>
#include <utility>

#include "drapps/text/bpe/token_table.h"

namespace drapps::text {

WordEntry WordEntry::of(const WordKey& key, const TokenId* ids, std::size_t size) noexcept {
  WordEntry entry{.key = key};
  std::copy_n(ids, size, entry.ids);
  entry.ids[0] |= static_cast<std::uint32_t>(size) << kIdBits;
  return entry;
}

void WordCache::grow() {
  const HugeArray<WordEntry> before = std::exchange(entries_, HugeArray<WordEntry>(kGrownMemory / sizeof(WordEntry)));
  for (const WordEntry& entry : before) {
    if (entry.empty()) continue;
    const std::uint32_t place = sets().place_of(entry.key);
    entries_[place + (entries_[place].empty() ? 0 : 1)] = entry;
  }
}

void WordCache::insert(const WordKey& key, std::uint32_t place, const TokenId* ids, std::size_t size) noexcept {
  WordEntry* const entry = &entries_[place];
  const bool first = entry[0].empty();
  const bool full = !first && !entry[1].empty();
  if (++inserted_ % kStay == 0 && full) entry[0] = entry[1];
  entry[first ? 0 : 1] = WordEntry::of(key, ids, size);
}

void PhraseCache::grow() {
  const HugeArray<PhraseEntry> before =
      std::exchange(entries_, HugeArray<PhraseEntry>(kGrownMemory / sizeof(PhraseEntry)));
  for (const PhraseEntry& entry : before) {
    if (entry.tokens > 0) at(hash_bytes({entry.bytes, entry.size})) = entry;
  }
}

void PhraseCache::insert(std::string_view pretoken, std::uint64_t hash, bool part, const TokenId* ids,
                         std::size_t tokens) noexcept {
  if (tokens == 0 || !has_room(pretoken.size(), tokens)) return;
  PhraseEntry& entry = at(hash);
  entry.size = static_cast<std::uint8_t>(pretoken.size());
  entry.part = part;
  entry.tokens = static_cast<std::uint16_t>(tokens);
  std::copy_n(pretoken.data(), pretoken.size(), entry.bytes);
  std::memcpy(entry.bytes + ids_at(pretoken.size()), ids, tokens * sizeof(TokenId));
}

}  // namespace drapps::text
