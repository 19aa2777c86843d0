#include "drapps/base/memory_ledger.h"

#include <algorithm>

#include "drapps/base/never_destroyed.h"

namespace drapps {
namespace {

void raise_to(std::atomic<std::size_t>& peak, std::size_t used) noexcept {
  std::size_t before = peak.load(std::memory_order_relaxed);
  while (before < used && !peak.compare_exchange_weak(before, used, std::memory_order_relaxed)) {
  }
}

}  // namespace

bool MemoryLedger::try_reserve(std::size_t bytes) noexcept {
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    const std::size_t limit = limit_.load(std::memory_order_relaxed);
    if (used > limit || bytes > limit - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  if (of_ != nullptr && !of_->try_reserve(bytes)) {
    used_.fetch_sub(bytes, std::memory_order_relaxed);
    return false;
  }
  raise_to(peak_, used + bytes);
  return true;
}

bool MemoryLedger::reserve(std::size_t bytes) noexcept {
  if (try_reserve(bytes)) return true;
  MemoryLedger& whole = this->whole();
  const std::scoped_lock lock(whole.mutex_);
  for (const ReleasePlace& place : whole.releasable_) {
    const std::size_t limit = whole.limit();
    if (bytes > limit) return false;
    const std::size_t used = whole.used();
    if (used + bytes > limit) place.who->release(used + bytes - limit);
  }
  return try_reserve(bytes);
}

void MemoryLedger::release(std::size_t bytes) noexcept {
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  if (of_ != nullptr) of_->release(bytes);
}

void MemoryLedger::set_used(std::size_t bytes) noexcept {
  const std::size_t before = used_.exchange(bytes, std::memory_order_relaxed);
  raise_to(peak_, bytes);
  if (of_ == nullptr || bytes == before) return;
  bytes > before ? of_->take(bytes - before) : of_->release(before - bytes);
}

void MemoryLedger::take(std::size_t bytes) noexcept {
  raise_to(peak_, used_.fetch_add(bytes, std::memory_order_relaxed) + bytes);
  if (of_ != nullptr) of_->take(bytes);
}

void MemoryLedger::add(Releasable& who, ReleaseOrder order) {
  MemoryLedger& whole = this->whole();
  const std::scoped_lock lock(whole.mutex_);
  const auto later = std::ranges::upper_bound(whole.releasable_, order, {}, &ReleasePlace::order);
  whole.releasable_.insert(later, {order, &who});
}

void MemoryLedger::remove(const Releasable& who) noexcept {
  MemoryLedger& whole = this->whole();
  const std::scoped_lock lock(whole.mutex_);
  std::erase_if(whole.releasable_, [&](const ReleasePlace& place) { return place.who == &who; });
}

std::size_t MemoryLedger::releasable() const noexcept {
  const MemoryLedger& whole = this->whole();
  const std::scoped_lock lock(whole.mutex_);
  std::size_t sum = 0;
  for (const ReleasePlace& place : whole.releasable_) sum += place.who->releasable();
  return sum;
}

MemoryLedger& MemoryLedger::unlimited() noexcept {
  static const NeverDestroyed<MemoryLedger> ledger;
  return *ledger;
}

}  // namespace drapps
