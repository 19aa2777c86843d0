#include "drapps/shm/item_book.h"

#include <algorithm>
#include <chrono>
#include <new>
#include <thread>
#include <vector>

#include "drapps/base/clock.h"

namespace drapps {
namespace {

constexpr std::uint64_t kHolderLookNs = 5'000'000;  // between looks whether a holder lives
constexpr std::uint64_t kHolderPatienceNs = 2'000'000'000;
constexpr int kHolderYields = 100;  // most holders take less
constexpr std::chrono::microseconds kHolderSleep{50};
// The slots are looked through for what the dead have no more often than this, and for a 200th of the time at most.
constexpr std::uint64_t kReclaimPeriodNs = 1'000'000'000;
constexpr std::uint64_t kReclaimRest = 200;
constexpr std::uint64_t kGapsUnknown = ~std::uint64_t{0};
constexpr auto kRelaxed = std::memory_order_relaxed;

}  // namespace

/// The lock, while this lives.
class ItemBook::BookHold {
 public:
  BookHold(ItemBook& book, const Owner& me) : book_(book), held_(book.take(me)) {}
  ~BookHold() {
    if (held_) book_.entry_.lock.store(0, std::memory_order_release);
  }
  BookHold(const BookHold&) = delete;
  BookHold& operator=(const BookHold&) = delete;
  explicit operator bool() const noexcept { return held_; }

 private:
  ItemBook& book_;
  const bool held_;
};

bool ItemBook::take(const Owner& me) {
  const std::uint64_t began = monotonic_ns();
  std::uint64_t look = began + kHolderLookNs;
  for (int tries = 0;; ++tries) {
    std::uint64_t holder = 0;
    if (entry_.lock.compare_exchange_strong(holder, me.bits(), std::memory_order_acquire)) return true;
    if (const std::uint64_t now = monotonic_ns(); now >= look) {
      if (Owner::of(holder).process.has_ended() &&
          entry_.lock.compare_exchange_strong(holder, me.bits(), std::memory_order_acquire)) {
        repair();
        return true;
      }
      if (now - began > kHolderPatienceNs || Owner::of(holder).process.is_stopped()) return false;
      look = now + kHolderLookNs;
    }
    if (tries < kHolderYields) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kHolderSleep);
    }
  }
}

std::optional<ItemBook::ItemExtent> ItemBook::extent_of(const ItemSlot& slot) const noexcept {
  // Others wrote it, and may have written anything.
  const std::uint64_t offset = slot.offset.load(std::memory_order_acquire);
  const std::uint64_t bytes = slot.bytes.load(kRelaxed);
  if (offset < begin_ || offset >= end_ || offset % kItemAlignment != 0 || bytes > end_ - offset) return std::nullopt;
  return ItemExtent{.begin = offset, .bytes = round_up(bytes, kItemAlignment)};
}

void ItemBook::repair() noexcept {
  std::uint64_t used = 0;
  std::uint64_t end = begin_;
  for (const ItemSlot& slot : slots_) {
    if (const auto extent = extent_of(slot)) {
      used += extent->bytes;
      end = std::max(end, extent->begin + extent->bytes);
    }
  }
  entry_.used.store(used, kRelaxed);
  entry_.end.store(end, kRelaxed);
  entry_.gap_bytes.store(0, kRelaxed);
  entry_.other_gap_bytes.store(kGapsUnknown, kRelaxed);
}

bool ItemBook::allocate(ItemSlot& slot, std::uint64_t bytes, const Owner& me) {
  if (bytes == 0 || bytes > end_ - begin_) return false;
  const std::uint64_t whole = round_up(bytes, kItemAlignment);
  const bool due = monotonic_ns() >= entry_.reclaim_ns.load(kRelaxed);
  // Where the budget is used up, processes that find nothing need not wait for one another.
  if (!due && slot.offset.load(kRelaxed) == 0 && used() + whole > end_ - begin_) return false;
  const BookHold hold(*this, me);
  if (!hold) return false;
  // A dead process was making the item here.
  if (const auto had = extent_of(slot); had && had->bytes == whole && back(*had)) {
    slot.bytes.store(bytes, kRelaxed);
    return true;
  }
  drop(slot);
  std::optional<std::uint64_t> place = place_for(whole);
  if (!place && due) {
    drop_what_the_dead_have(me);
    place = place_for(whole);
  }
  if (!place || !back({.begin = *place, .bytes = whole})) return false;
  slot.bytes.store(bytes, kRelaxed);
  slot.offset.store(*place, std::memory_order_release);
  entry_.used.store(used() + whole, kRelaxed);
  if (*place == entry_.end.load(kRelaxed)) {
    entry_.end.store(*place + whole, kRelaxed);
  } else {
    entry_.gap.store(*place + whole, kRelaxed);
    entry_.gap_bytes.store(entry_.gap_bytes.load(kRelaxed) - whole, kRelaxed);
  }
  return true;
}

std::optional<std::uint64_t> ItemBook::place_for(std::uint64_t bytes) {
  // Others wrote the book, and may have written anything.
  const auto fits = [&](std::uint64_t place) { return place >= begin_ && place <= end_ && bytes <= end_ - place; };
  if (const std::uint64_t end = entry_.end.load(kRelaxed); fits(end)) return end;
  if (bytes > entry_.gap_bytes.load(kRelaxed) && bytes <= entry_.other_gap_bytes.load(kRelaxed)) look_for_gaps();
  if (const std::uint64_t end = entry_.end.load(kRelaxed); fits(end)) return end;
  const std::uint64_t gap = entry_.gap.load(kRelaxed);
  if (bytes <= entry_.gap_bytes.load(kRelaxed) && fits(gap)) return gap;
  return std::nullopt;
}

bool ItemBook::back(const ItemExtent& extent) const noexcept {
  if (!file_.back(extent.begin, extent.bytes)) {
    file_.punch(extent.begin, extent.bytes);
    return false;
  }
  // Where the system fails to give some pages, it takes back all of the range that nobody has written to, whosever they
  // are. With its neighbours an item shares its first and its last page.
  memory_[extent.begin] = std::byte{0};
  memory_[extent.begin + extent.bytes - 1] = std::byte{0};
  return true;
}

void ItemBook::look_for_gaps() {
  ItemExtent largest{};
  std::uint64_t other = 0;
  std::uint64_t at = begin_;
  try {
    std::vector<ItemExtent> extents;
    for (const ItemSlot& slot : slots_) {
      if (const auto extent = extent_of(slot)) extents.push_back(*extent);
    }
    std::ranges::sort(extents, {}, &ItemExtent::begin);
    for (const ItemExtent& extent : extents) {
      const std::uint64_t gap = extent.begin - std::min(at, extent.begin);
      other = std::max(other, std::min(gap, largest.bytes));
      if (gap > largest.bytes) largest = {.begin = at, .bytes = gap};
      at = std::max(at, extent.begin + extent.bytes);
    }
    entry_.end.store(at, kRelaxed);
  } catch (const std::bad_alloc&) {
    largest = {};  // what there is of gaps stays unused until one more comes
  }
  entry_.gap.store(largest.begin, kRelaxed);
  entry_.gap_bytes.store(largest.bytes, kRelaxed);
  entry_.other_gap_bytes.store(other, kRelaxed);
}

void ItemBook::drop(ItemSlot& slot) noexcept {
  const auto extent = extent_of(slot);
  slot.offset.store(0, std::memory_order_release);
  if (!extent) return;
  file_.punch(extent->begin, extent->bytes);
  entry_.used.store(used() - std::min(used(), extent->bytes), kRelaxed);
  if (extent->begin + extent->bytes == entry_.end.load(kRelaxed)) {
    entry_.end.store(extent->begin, kRelaxed);
  } else {
    entry_.other_gap_bytes.store(kGapsUnknown, kRelaxed);
  }
}

void ItemBook::release(ItemSlot& slot, const Owner& me) {
  if (slot.offset.load(kRelaxed) == 0) return;
  if (const BookHold hold(*this, me); hold) drop(slot);
}

void ItemBook::reclaim(const Owner& me) {
  const BookHold hold(*this, me);
  if (!hold) return;
  drop_what_the_dead_have(me);
  repair();
}

void ItemBook::drop_what_the_dead_have(const Owner& me) {
  const std::uint64_t began = monotonic_ns();
  for (ItemSlot& slot : slots_) {
    std::uint64_t bits = slot.word.load(std::memory_order_acquire);
    const Owner owner = Owner::of(bits);
    const bool left = owner.state == kItemAbsent && slot.offset.load(kRelaxed) != 0;
    if (!left && (owner.state != kItemClaimed || !owner.process.has_ended())) continue;
    if (!slot.word.compare_exchange_strong(bits, me.bits(), std::memory_order_acq_rel)) continue;
    drop(slot);
    slot.word.store(0, std::memory_order_release);
  }
  const std::uint64_t now = monotonic_ns();
  entry_.reclaim_ns.store(now + std::max(kReclaimPeriodNs, kReclaimRest * (now - began)), kRelaxed);
}

}  // namespace drapps
