// Indexes in memory: one place for each record of a source, within a budget that is never passed.
//
// A record costs 8 bytes for its place and, where it is known, 56 bytes and 10 for each entry, plus what malloc adds.
// Nothing is ever evicted for another record: every record is asked for once an epoch, so what is kept is worth the
// same as what would take its place. But what batches and workers need is worth more: for them records are dropped, and
// what is left then is the budget from there on.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>

#include "drapps/base/memory_ledger.h"
#include "drapps/decode/jpeg/index.h"

namespace drapps::jpeg {

/// True where some JPEG has this shape and an index of it may have that many entries, at least one.
bool plausible(const IndexShape& shape, std::size_t entries) noexcept;

/// Sums over the records that a store knows something of.
struct IndexStatistics {
  std::uint64_t records = 0;           // known in part or as a whole
  std::uint64_t complete = 0;          // known as a whole
  std::uint64_t entries = 0;           // kept
  std::uint64_t complete_entries = 0;  // that there would be if all these records were complete
  std::uint64_t refused = 0;           // offers that said more, but found no memory

  /// Share of the entries that are kept, 0 to 1; 0 where no record is known.
  double coverage() const noexcept {
    return complete_entries == 0 ? 0 : static_cast<double>(entries) / static_cast<double>(complete_entries);
  }
};

/// All members may be called from any thread. get, offer and copy hold one of 64 locks for as long as the copy takes.
class MemoryIndexStore final : public IndexStore, private Releasable {
 public:
  /// @param ledger   every byte is reserved there before it is allocated; must outlive the store.
  /// @param records  of the source; larger record numbers are ignored.
  /// @param budget   bytes at most. A store that cannot hold its own table keeps nothing.
  MemoryIndexStore(MemoryLedger& ledger, std::uint64_t records, std::size_t budget);
  ~MemoryIndexStore() override;
  MemoryIndexStore(const MemoryIndexStore&) = delete;
  MemoryIndexStore& operator=(const MemoryIndexStore&) = delete;

  /// 8 where every record could have the complete index of such a picture within the budget.
  std::uint32_t group(std::uint32_t mcus_across, std::uint32_t mcus_down) const noexcept override;

  bool get(const IndexKey& key, ScanIndex& index) override;

  /// Of two indexes of one picture, the one that reaches further down stays; where both reach as far, the finer one.
  /// Another identity or another picture replaces what was known, or, without memory, removes it. Anything that is
  /// not plausible() is ignored.
  void offer(const IndexKey& key, const IndexShape& shape, std::span<const IndexEntry> entries) override;

  bool knows_all(std::uint64_t record) const noexcept override;

  /// The store itself, its table, and all entries as malloc rounds them. At most the budget.
  std::size_t bytes() const noexcept override { return own_.used(); }

  /// The records of the source, as the constructor was told, or 0 where there was no memory for the table.
  std::uint64_t records() const noexcept { return records_; }

  /// Copies whatever is known of `record`, of any identity, which is put into `key`. False where nothing is.
  bool copy(std::uint64_t record, IndexKey& key, ScanIndex& index) const;

  IndexStatistics statistics() const;

 private:
  struct IndexBlock {
    FileIdentity identity;
    IndexShape shape;
    std::uint32_t count;  // of the entries behind it

    IndexEntry* entries() noexcept { return reinterpret_cast<IndexEntry*>(this + 1); }
    const IndexEntry* entries() const noexcept { return reinterpret_cast<const IndexEntry*>(this + 1); }
  };

  /// Guards the slots of the records r with r % kStripes == its number.
  struct alignas(64) Stripe {
    mutable std::mutex mutex;
    IndexStatistics statistics;

    void add(const IndexBlock& block) noexcept;
    void remove(const IndexBlock& block) noexcept;
  };
  static constexpr std::size_t kStripes = 64;

  static std::size_t size_of(std::size_t entries) noexcept;
  std::size_t release(std::size_t bytes) noexcept override;
  std::size_t releasable() const noexcept override { return own_.used() - fixed_; }
  void drop(Stripe& stripe, IndexBlock*& place) noexcept;
  static void copy_to(const IndexBlock& block, ScanIndex& index);

  MemoryLedger own_;       // the budget
  std::size_t fixed_ = 0;  // bytes of the budget that are used without any record
  std::uint64_t records_ = 0;
  std::uint64_t released_ = 0;  // the record that was dropped last
  std::size_t share_ = 0;       // of the budget for the entries of one record
  std::unique_ptr<IndexBlock*[]> places_;
  std::array<Stripe, kStripes> stripes_;
};

}  // namespace drapps::jpeg
