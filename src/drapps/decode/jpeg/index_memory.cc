#include "drapps/decode/jpeg/index_memory.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

namespace drapps::jpeg {
namespace {

// 65535 pixels a side, in MCUs of at least 8.
constexpr std::uint32_t kMaxMcus = 8192;

bool same_picture(const IndexShape& a, const IndexShape& b) noexcept {
  return a.mcus_across == b.mcus_across && a.mcus_down == b.mcus_down && a.headers == b.headers &&
         a.file_bytes == b.file_bytes;
}

/// How much an index says: the whole rows it reaches, then its entries. Comparable between shapes of one picture.
std::pair<std::size_t, std::size_t> worth(const IndexShape& shape, std::size_t entries) noexcept {
  return {entries / shape.groups_across(), entries};
}

}  // namespace

bool plausible(const IndexShape& shape, std::size_t entries) noexcept {
  return shape.mcus_across - 1 < kMaxMcus && shape.mcus_down - 1 < kMaxMcus &&
         (shape.group == 8 || shape.group == shape.mcus_across) && entries != 0 && entries <= shape.entries();
}

MemoryIndexStore::MemoryIndexStore(MemoryLedger& ledger, std::uint64_t records, std::size_t budget)
    : own_(&ledger, budget) {
  if (records > (std::numeric_limits<std::size_t>::max() - sizeof *this) / sizeof(IndexBlock*)) return;
  const std::size_t fixed = sizeof *this + static_cast<std::size_t>(records) * sizeof(IndexBlock*);
  if (!own_.try_reserve(fixed)) return;
  places_.reset(new (std::nothrow) IndexBlock*[static_cast<std::size_t>(records)]());
  if (places_ == nullptr) {
    own_.release(fixed);
    return;
  }
  fixed_ = fixed;
  records_ = records;
  own_.add(*this, ReleaseOrder::kCache);
  share_ = records == 0 ? 0 : (budget - fixed) / static_cast<std::size_t>(records);
}

MemoryIndexStore::~MemoryIndexStore() {
  own_.remove(*this);
  for (std::uint64_t i = 0; i < records_; ++i) std::free(places_[i]);
}

std::uint32_t MemoryIndexStore::group(std::uint32_t mcus_across, std::uint32_t mcus_down) const noexcept {
  const IndexShape fine{.mcus_across = mcus_across, .mcus_down = mcus_down, .group = 8};
  return plausible(fine, 1) && size_of(fine.entries()) <= share_ ? 8 : mcus_across;
}

bool MemoryIndexStore::get(const IndexKey& key, ScanIndex& index) {
  index.entries.clear();
  if (key.record >= records_) return false;
  Stripe& stripe = stripes_[key.record % kStripes];
  const std::lock_guard lock(stripe.mutex);
  IndexBlock*& place = places_[key.record];
  if (place != nullptr && place->identity != key.identity) drop(stripe, place);
  if (place == nullptr) return false;
  copy_to(*place, index);
  return true;
}

void MemoryIndexStore::offer(const IndexKey& key, const IndexShape& shape, std::span<const IndexEntry> entries) {
  if (key.record >= records_ || !plausible(shape, entries.size())) return;
  Stripe& stripe = stripes_[key.record % kStripes];
  const std::lock_guard lock(stripe.mutex);
  IndexBlock*& place = places_[key.record];
  if (place != nullptr && (place->identity != key.identity || !same_picture(place->shape, shape))) drop(stripe, place);
  if (place != nullptr && worth(shape, entries.size()) <= worth(place->shape, place->count)) return;

  // The offer holds all that the old block does, so the old one goes first: two never stand beside each other.
  const auto count = static_cast<std::uint32_t>(entries.size());
  const std::size_t before = place == nullptr ? 0 : size_of(place->count);
  const std::size_t after = size_of(count);
  if (after > before && !own_.try_reserve(after - before)) {
    ++stripe.statistics.refused;
    return;
  }
  if (place != nullptr) stripe.remove(*place);
  std::free(place);
  place = static_cast<IndexBlock*>(std::malloc(sizeof(IndexBlock) + std::size_t{count} * sizeof(IndexEntry)));
  if (place == nullptr) {
    own_.release(std::max(before, after));
    ++stripe.statistics.refused;
    return;
  }
  if (before > after) own_.release(before - after);
  new (place) IndexBlock{key.identity, shape, count};
  std::uninitialized_copy(entries.begin(), entries.end(), place->entries());
  stripe.add(*place);
}

bool MemoryIndexStore::copy(std::uint64_t record, IndexKey& key, ScanIndex& index) const {
  index.entries.clear();
  if (record >= records_) return false;
  const std::lock_guard lock(stripes_[record % kStripes].mutex);
  const IndexBlock* const place = places_[record];
  if (place == nullptr) return false;
  key = {.record = record, .identity = place->identity};
  copy_to(*place, index);
  return true;
}

bool MemoryIndexStore::knows_all(std::uint64_t record) const noexcept {
  if (record >= records_) return false;
  const std::lock_guard lock(stripes_[record % kStripes].mutex);
  const IndexBlock* const place = places_[record];
  return place != nullptr && place->count == place->shape.entries();
}

IndexStatistics MemoryIndexStore::statistics() const {
  IndexStatistics sum;
  for (const Stripe& stripe : stripes_) {
    const std::lock_guard lock(stripe.mutex);
    sum.records += stripe.statistics.records;
    sum.complete += stripe.statistics.complete;
    sum.entries += stripe.statistics.entries;
    sum.complete_entries += stripe.statistics.complete_entries;
    sum.refused += stripe.statistics.refused;
  }
  return sum;
}

void MemoryIndexStore::Stripe::add(const IndexBlock& block) noexcept {
  const std::size_t all = block.shape.entries();
  ++statistics.records;
  statistics.complete += block.count == all;
  statistics.entries += block.count;
  statistics.complete_entries += all;
}

void MemoryIndexStore::Stripe::remove(const IndexBlock& block) noexcept {
  const std::size_t all = block.shape.entries();
  --statistics.records;
  statistics.complete -= block.count == all;
  statistics.entries -= block.count;
  statistics.complete_entries -= all;
}

/// malloc keeps 8 bytes before a block and rounds the sum to 16.
std::size_t MemoryIndexStore::size_of(std::size_t entries) noexcept {
  return (sizeof(IndexBlock) + entries * sizeof(IndexEntry) + 8 + 15) / 16 * 16;
}

std::size_t MemoryIndexStore::release(std::size_t bytes) noexcept {
  std::size_t freed = 0;
  for (std::uint64_t i = 0; i < records_ && freed < bytes && releasable() > 0; ++i) {
    released_ = (released_ == 0 ? records_ : released_) - 1;
    Stripe& stripe = stripes_[released_ % kStripes];
    const std::lock_guard lock(stripe.mutex);
    IndexBlock*& place = places_[released_];
    if (place == nullptr) continue;
    freed += size_of(place->count);
    drop(stripe, place);
  }
  own_.set_limit(own_.used());
  return freed;
}

void MemoryIndexStore::drop(Stripe& stripe, IndexBlock*& place) noexcept {
  stripe.remove(*place);
  own_.release(size_of(place->count));
  std::free(place);
  place = nullptr;
}

void MemoryIndexStore::copy_to(const IndexBlock& block, ScanIndex& index) {
  index.shape = block.shape;
  index.entries.assign(block.entries(), block.entries() + block.count);
}

}  // namespace drapps::jpeg
