// Who holds how many bytes against one hard limit.
//
//   MemoryLedger batches(&whole);  // an account of another ledger
//   if (!batches.reserve(bytes)) return no_memory();
//   batches.release(bytes);
//
// Every buffer that a loader owns is reserved here before it is allocated, so the sum never
// passes the limit. A ledger may be an account of another one: what it takes counts in both, and
// so the whole says how much there is, and each account what for. All members may be called from
// any thread.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <mutex>
#include <vector>

namespace drapps {

/// The order in which the holders of releasable memory are asked. Such memory is worth less than anybody's need: its
/// holder releases it where a reserve() finds none left.
enum class ReleaseOrder : std::uint8_t {
  kSpareBatches,  // batch memory between two passes, which is mapped anew at the cost of page faults
  kCache,         // what is kept of the records from pass to pass
};

class Releasable {
 public:
  virtual ~Releasable() = default;
  /// Releases `bytes`, or all it can; how many. It reserves nothing, and takes no lock under which it has others
  /// asked.
  virtual std::size_t release(std::size_t bytes) noexcept = 0;
  /// Bytes that release() can give.
  virtual std::size_t releasable() const noexcept = 0;
};

class MemoryLedger {
 public:
  /// @param limit bytes; by default there is none.
  explicit MemoryLedger(std::size_t limit = std::numeric_limits<std::size_t>::max()) noexcept : limit_(limit) {}
  /// An account of `of`, which outlives it, with a limit of its own.
  explicit MemoryLedger(MemoryLedger* of, std::size_t limit = std::numeric_limits<std::size_t>::max()) noexcept
      : of_(of), limit_(limit) {}
  /// An account releases what it still has.
  ~MemoryLedger() { set_used(0); }
  MemoryLedger(const MemoryLedger&) = delete;
  MemoryLedger& operator=(const MemoryLedger&) = delete;

  /// Takes `bytes` from what is left, or takes nothing and returns false.
  [[nodiscard]] bool try_reserve(std::size_t bytes) noexcept;
  /// Takes `bytes` as try_reserve() does, but where too little is left, holders of releasable memory are asked first.
  /// Call it without a lock that their release() takes.
  [[nodiscard]] bool reserve(std::size_t bytes) noexcept;
  /// Releases what was taken.
  void release(std::size_t bytes) noexcept;
  /// Books so many bytes, within the limits or not: they are in use already, where nobody here was asked.
  void set_used(std::size_t bytes) noexcept;

  std::size_t limit() const noexcept { return limit_.load(std::memory_order_relaxed); }
  std::size_t used() const noexcept { return used_.load(std::memory_order_relaxed); }
  std::size_t peak() const noexcept { return peak_.load(std::memory_order_relaxed); }
  /// The ledger that this is an account of, directly or not; itself where it is none.
  MemoryLedger& whole() noexcept { return of_ == nullptr ? *this : of_->whole(); }
  const MemoryLedger& whole() const noexcept { return of_ == nullptr ? *this : of_->whole(); }

  /// Bytes that were given to the user: no part of the limit, counted apart, for the whole.
  std::size_t held() const noexcept { return whole().held_.load(std::memory_order_relaxed); }
  void add_held(std::size_t bytes) noexcept { whole().held_.fetch_add(bytes, std::memory_order_relaxed); }
  void drop_held(std::size_t bytes) noexcept { whole().held_.fetch_sub(bytes, std::memory_order_relaxed); }

  /// A lower limit takes nothing back; it only refuses until enough was released.
  void set_limit(std::size_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }

  /// From now on until remove(), `who` is asked where the whole has too little left.
  void add(Releasable& who, ReleaseOrder order);
  void remove(const Releasable& who) noexcept;
  /// Bytes of the whole that others can have, though they are in use.
  std::size_t releasable() const noexcept;

  /// A ledger without a limit, for tests and tools.
  static MemoryLedger& unlimited() noexcept;

 private:
  struct ReleasePlace {
    ReleaseOrder order;
    Releasable* who;
  };

  void take(std::size_t bytes) noexcept;

  MemoryLedger* const of_ = nullptr;
  std::atomic<std::size_t> limit_;
  std::atomic<std::size_t> used_{0};
  std::atomic<std::size_t> peak_{0};
  std::atomic<std::size_t> held_{0};

  mutable std::mutex mutex_;  // guards all below; that of the whole is used
  std::vector<ReleasePlace> releasable_;
};

}  // namespace drapps
