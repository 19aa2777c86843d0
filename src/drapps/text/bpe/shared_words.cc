#include "drapps/text/bpe/shared_words.h"

#include <algorithm>

#include "drapps/base/caught.h"

namespace drapps::text {

SharedWords::~SharedWords() {
  if (booked_ != nullptr && entries_.size() > 0) booked_->release(kMemory);
}

void SharedWords::join() noexcept {
  if (encoders_.fetch_add(1, std::memory_order_relaxed) != 1) return;
  if (booked_ != nullptr && !booked_->try_reserve(kMemory)) return;
  if (catching([this] { entries_ = HugeArray<WordEntry>(kEntries); }).ok()) {
    table_.store(entries_.begin(), std::memory_order_release);
  } else if (booked_ != nullptr) {
    booked_->release(kMemory);
  }
}

std::size_t SharedWords::find(const WordKey& key, TokenId* out) const noexcept {
  WordEntry* const table = table_.load(std::memory_order_acquire);
  if (table == nullptr) return 0;
  WordEntry* const places = table + place_of(key);
  for (std::size_t i = 0; i < kProbed; ++i) {
    const std::uint32_t state = std::atomic_ref(places[i].ids[0]).load(std::memory_order_acquire);
    if (state == 0) return 0;
    if (state != kClaimed && places[i].key.is(key)) return places[i].copy_ids(state, out);
  }
  return 0;
}

void SharedWords::insert(const WordKey& key, const TokenId* ids, std::size_t size) noexcept {
  WordEntry* const table = table_.load(std::memory_order_acquire);
  if (table == nullptr) return;
  WordEntry* const places = table + place_of(key);
  for (std::size_t i = 0; i < kProbed; ++i) {
    const std::atomic_ref state(places[i].ids[0]);
    std::uint32_t before = state.load(std::memory_order_acquire);
    if (before == 0 && state.compare_exchange_strong(before, kClaimed, std::memory_order_acquire)) {
      const WordEntry entry = WordEntry::of(key, ids, size);
      places[i].key = key;
      std::copy_n(entry.ids + 1, WordEntry::kMaxIds - 1, places[i].ids + 1);
      state.store(entry.ids[0], std::memory_order_release);
      return;
    }
    if (before != kClaimed && places[i].key.is(key)) return;
  }
}

}  // namespace drapps::text
