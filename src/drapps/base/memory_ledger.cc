#include "drapps/base/memory_ledger.h"

namespace drapps {

bool MemoryLedger::try_reserve(std::size_t bytes) noexcept {
  std::size_t used = used_.load(std::memory_order_relaxed);
  do {
    const std::size_t limit = limit_.load(std::memory_order_relaxed);
    if (used > limit || bytes > limit - used) return false;
  } while (!used_.compare_exchange_weak(used, used + bytes, std::memory_order_relaxed));
  std::size_t peak = peak_.load(std::memory_order_relaxed);
  while (peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes, std::memory_order_relaxed)) {
  }
  return true;
}

void MemoryLedger::release(std::size_t bytes) noexcept { used_.fetch_sub(bytes, std::memory_order_relaxed); }

MemoryLedger& MemoryLedger::unlimited() noexcept {
  static MemoryLedger ledger;
  return ledger;
}

}  // namespace drapps
