#include "drapps/text/bpe/word_cache.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <new>

namespace drapps::text {

WordCache::WordCache() {
  void* const memory = std::aligned_alloc(kMemory, kMemory);
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory, kMemory, MADV_HUGEPAGE);  // where the system has such pages for it
  std::memset(memory, 0, kMemory);          // no pretoken is of size 0
  entries_.reset(static_cast<WordEntry*>(memory));
}

void WordCache::insert(const WordKey& key, std::uint32_t place, const TokenId* ids, std::size_t size) noexcept {
  WordEntry* const entry = entries_.get() + place;
  if (++inserted_ % kStay == 0) entry[0] = entry[1];
  WordEntry& last = entry[1];
  last.key = key;
  std::copy_n(ids, size, last.ids);
  last.size = static_cast<std::uint32_t>(size);
}

void WordCache::FreeEntries::operator()(WordEntry* entries) const noexcept { std::free(entries); }

PhraseCache::PhraseCache() : entries_(std::make_unique<PhraseEntry[]>(std::size_t{1} << kBits)) {}

void PhraseCache::insert(std::string_view pretoken, std::uint64_t hash, bool part, const TokenId* ids,
                         std::size_t tokens) noexcept {
  if (pretoken.size() > kMaxSize || tokens == 0 || tokens > kMaxIds) return;
  PhraseEntry& entry = at(hash);
  entry.size = static_cast<std::uint8_t>(pretoken.size());
  entry.part = part;
  entry.tokens = static_cast<std::uint16_t>(tokens);
  std::copy_n(ids, tokens, entry.ids);
  std::copy_n(pretoken.data(), pretoken.size(), entry.bytes);
}

}  // namespace drapps::text
