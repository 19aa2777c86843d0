// Who holds how many bytes against one hard limit.
//
// Every buffer that a loader owns is reserved here before it is allocated, so the sum never
// passes the limit. All members may be called from any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace drapps {

class MemoryLedger {
 public:
  /// @param limit bytes; by default there is none.
  explicit MemoryLedger(std::size_t limit = std::numeric_limits<std::size_t>::max()) noexcept : limit_(limit) {}
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  /// Takes `bytes` from what is left, or takes nothing and returns false.
  [[nodiscard]] bool try_reserve(std::size_t bytes) noexcept;
  /// Gives back what try_reserve took.
  void release(std::size_t bytes) noexcept;

  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }

  /// Bytes that were given to the user: no part of the limit, counted apart.
  std::size_t held() const noexcept { return held_.load(std::memory_order_relaxed); }
  void add_held(std::size_t bytes) noexcept { held_.fetch_add(bytes, std::memory_order_relaxed); }
  void drop_held(std::size_t bytes) noexcept { held_.fetch_sub(bytes, std::memory_order_relaxed); }

  /// A lower limit takes nothing back; it only refuses until enough was released.
  void set_limit(std::size_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }

  /// A ledger without a limit, for tests and tools.
  static MemoryLedger& unlimited() noexcept;

 private:
  std::atomic<std::size_t> limit_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> peak_{0};
  std::atomic<std::size_t> held_{0};
};

}  // namespace drapps
