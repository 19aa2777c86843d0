// The tier in memory: entries in blocks of malloc, found through a table of words.
//
//   const Member member = store.join(records, budget);
//   store.offer({id, state, member.number}, FormId::kBytes, bytes.size(), saved_ns, fill);  // fill(entry) writes it
//   const View view = store.get({id, state, member.number});
//   store.leave(member);
//
// 1. A word of the table is the address of its entry, some bits of its identity, and how many views there are of it, so
//    that one atomic operation both finds an entry and keeps it from going. Readers take no lock.
// 2. The table is made of segments: one is added where those that are there would get too full, and none is ever moved.
//    A word that its entry has left is used again.
// 3. An entry that is dropped is marked, and whoever has its last view frees it: who marks it has one.
//
// 4. An entry is a member's: who offered it, or who asked for it first after that one had left. Entries of members that
//    have left go, some at once and evenly over the table, where there is no room or no place for another's.
//
// An entry costs 32 bytes and what malloc adds, and its share of the table, 9 bytes where the number of records was
// told beforehand.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <set>

#include "drapps/base/memory_ledger.h"
#include "drapps/cache/members.h"
#include "drapps/cache/tier.h"

namespace drapps::cache {

/// Sums over the entries of one form.
struct FormStatistics {
  std::uint64_t entries = 0;
  std::uint64_t bytes = 0;     // of their content
  std::uint64_t saved_ns = 0;  // by having them, in each pass
};

struct StoreStatistics {
  std::array<FormStatistics, kForms> forms;  // by FormId
  std::uint64_t refused = 0;                 // offers for which there was no room
  std::uint64_t dropped = 0;                 // entries that left for memory that others need
  std::uint64_t stale = 0;                   // entries that left because their file has changed
};

class Store final : public Tier, public Releasable {
 public:
  /// @param account  every byte is reserved there before it is allocated; outlives the store.
  explicit Store(MemoryLedger& account);
  /// Requires that no view is left.
  ~Store() override;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  Member join(std::uint64_t entries, std::size_t budget) override;
  void leave(const Member& member) noexcept override;
  bool empty() const noexcept override { return entries_.load(std::memory_order_relaxed) == 0; }
  bool has(const RecordIdentity& id) noexcept override;
  View get(const Key& key) noexcept override;
  Admission offer(const Key& key, FormId form, std::size_t bytes, std::uint64_t saved_ns, const Fill& fill) override;
  void drop(const RecordIdentity& id) noexcept override;
  std::size_t room() const noexcept override;

  /// Another budget, until somebody joins or leaves. Where it is passed, entries go at once, of members that have
  /// left first, then those that save the least time per byte; those with a view go with the last of them.
  void set_budget(std::size_t bytes) noexcept;
  /// Drops entries of so many bytes, or all there are, in the order of set_budget().
  std::size_t release(std::size_t bytes) noexcept override;
  std::size_t budget() const noexcept { return own_.limit(); }
  std::size_t bytes() const noexcept { return own_.used(); }
  /// Its budget, for what else is kept of the records.
  MemoryLedger& ledger() noexcept { return own_; }

  StoreStatistics statistics() const noexcept;

  /// What an entry with so many bytes of content takes, beside the table.
  static std::size_t size_of(FormId form, std::size_t bytes) noexcept;

 private:
  struct StoreEntry;
  using Word = std::atomic<std::uint64_t>;
  struct FreeWords {
    void operator()(Word* words) const noexcept { std::free(words); }
  };
  struct StoreSegment {
    std::unique_ptr<Word[], FreeWords> words;
    std::size_t size = 0;
    std::atomic<std::size_t> used{0};  // words that ever were

    std::size_t most() const noexcept { return size - size / 8; }
  };

  static constexpr std::size_t kSegments = 32;
  static constexpr std::size_t kStripes = 64;

  struct Sums {
    std::atomic<std::uint64_t> entries{0}, bytes{0}, saved_ns{0};
  };

  std::size_t releasable() const noexcept override;
  void unpin(std::uint64_t place) noexcept override;

  /// Visits the words that `id` may be in, up to the first that was never used, until `visit` says true.
  template <class Visit>
  Word* probe(const RecordIdentity& id, const Visit& visit) const noexcept;
  /// Visits each entry with a view of its own.
  template <class Visit>
  void for_each(const Visit& visit) noexcept;
  Word* find(const RecordIdentity& id) noexcept;
  bool place(const RecordIdentity& id, std::uint64_t bits, bool needed) noexcept;
  void leave(Word& word) noexcept;
  bool mark(Word& word) noexcept;
  bool keeps(const Key& key) noexcept;
  StoreEntry* make(const Key& key, FormId form, std::size_t bytes, std::uint64_t saved_ns) noexcept;
  void unmake(StoreEntry& entry) noexcept;
  void count(const StoreEntry& entry, int entries) noexcept;
  void adopt(StoreEntry& entry, std::uint16_t member) noexcept;
  std::size_t class_of(const StoreEntry& entry) const noexcept;
  std::size_t drop_least(std::size_t bytes) noexcept;
  bool drop_left(std::size_t bytes) noexcept;
  bool add_segment(std::uint64_t wanted) noexcept;
  bool make_places() noexcept;
  void clear() noexcept;

  MemoryLedger own_;  // the budget
  Members members_;
  // Entries of members that have left go one share after the other, and the table is not walked while it goes.
  std::mutex dropping_;
  std::array<StoreSegment, kSegments> segments_;
  std::atomic<std::size_t> segment_count_{0};
  std::array<std::mutex, kStripes> stripes_;  // of writers, by identity

  std::array<Sums, kForms> sums_;
  std::atomic<std::uint64_t> entries_{0};
  std::atomic<std::uint64_t> refused_{0}, dropped_{0}, stale_{0};

  std::mutex mutex_;  // guards all below, and that segments are added one after the other
  std::multiset<std::size_t> budgets_;
  std::uint64_t expected_ = 0;
  std::uint64_t places_ = 0;  // entries that the segments have place for
  std::size_t table_ = 0;     // bytes of the segments
};

}  // namespace drapps::cache
