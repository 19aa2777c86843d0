// Indexes in memory that processes share: one table within a budget, of pictures that are called by their bytes.
//
//   auto store = SharedIndexStore::make(budget, 0);
//   auto same = SharedIndexStore::attach((*store)->fd());  // in another process
//   const IndexUse use{.store = same->get(), .key = (*same)->key_of(file)};
//
//   header | slots | records
//
// 1. A picture is called by the length of its file and 128 bits of a hash of all of it, with a seed of the table's own.
//    So what was learnt of it serves wherever its bytes come from, a path, an archive or a column of a table, and never
//    serves a file that has changed, whatever its attributes say.
// 2. What is kept of a picture is a function of those bytes: whoever writes an entry writes the same. So nobody takes a
//    lock. A record says how many entries are there by one word, which is raised once they are written: of a process
//    that is killed in between nothing is seen, and the next one writes the same again.
// 3. Nothing is ever evicted: under a fresh permutation each epoch all pictures are asked for equally often.
// 4. That word has a checksum of the entries, too. Where something else has written over them, the record is not used
//    any more, and its picture is decoded from the top.
//
// It is a sparse memfd that each process maps: inherited by a fork, or attached to by a descriptor.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "drapps/base/result.h"
#include "drapps/decode/jpeg/index.h"
#include "drapps/shm/file.h"

namespace drapps::jpeg {

/// What a table knows, and how calls of get() and offer() ended. Of a process that is killed the last step may not be
/// counted.
struct SharedIndexStatistics {
  std::uint64_t records = 0;           // pictures that are known in part or as a whole
  std::uint64_t complete = 0;          // known as a whole
  std::uint64_t entries = 0;           // kept
  std::uint64_t complete_entries = 0;  // that there would be if all these pictures were complete
  std::uint64_t hits = 0;              // get() that gave something
  std::uint64_t misses = 0;            // get() that gave nothing
  std::uint64_t refused = 0;           // offers of pictures for which there was no room
  std::uint64_t damaged = 0;           // records that were written over

  /// Share of the entries that are kept, 0 to 1; 0 where no picture is known.
  double coverage() const noexcept {
    return complete_entries == 0 ? 0 : static_cast<double>(entries) / static_cast<double>(complete_entries);
  }
};

/// All members may be called from any thread; none waits for another thread or process.
class SharedIndexStore final : public IndexStore {
 public:
  /// Files of fewer bytes decode from the top as fast.
  static constexpr std::size_t kLeastFile = 4096;

  /// A new table.
  /// @param budget    bytes at most, its own book among them. Pages are there once they are used.
  /// @param pictures  that it is for; 0: that is not known.
  /// kInvalidArgument for a budget out of range, kResourceExhausted where the system has no such memory.
  static Result<std::shared_ptr<SharedIndexStore>> make(std::uint64_t budget, std::uint64_t pictures);
  /// The table that `fd` refers to, which stays the caller's. kInvalidArgument where it is something else.
  static Result<std::shared_ptr<SharedIndexStore>> attach(int fd);

  SharedIndexStore(const SharedIndexStore&) = delete;
  SharedIndexStore& operator=(const SharedIndexStore&) = delete;

  int fd() const noexcept { return file_.fd(); }
  std::uint64_t budget() const noexcept { return geometry_.file_bytes; }

  /// What a file is called here: the low half of the hash is its record, the high half and the size its identity.
  IndexKey key_of(std::span<const std::uint8_t> file) const noexcept;

  /// 8 where the complete index of such a picture is within the budget of one picture.
  std::uint32_t group(std::uint32_t mcus_across, std::uint32_t mcus_down) const noexcept override;
  bool get(const IndexKey& key, ScanIndex& index) override;
  /// Keeps `entries` where they reach further down than what is known. Anything that is not plausible() is ignored.
  void offer(const IndexKey& key, const IndexShape& shape, std::span<const IndexEntry> entries) override;
  /// Pages in use.
  std::size_t bytes() const noexcept override { return file_.resident(); }

  SharedIndexStatistics statistics() const noexcept;

 private:
  /// Where everything is. Written once, before the memory is shared.
  struct IndexGeometry {
    std::uint64_t magic = 0;
    std::uint64_t seed = 0;  // of the hash
    std::uint64_t file_bytes = 0;
    std::uint64_t slots = 0;  // a power of two
    std::uint64_t records_offset = 0;
    std::uint64_t pictures = 0;
  };
  struct IndexHeader;
  struct IndexRecord;
  struct RecordPlace;

  SharedIndexStore(SharedFile file, Mapping mapping, const IndexGeometry& geometry);
  static Result<std::shared_ptr<SharedIndexStore>> open(SharedFile file, const IndexGeometry& geometry);
  static IndexGeometry plan_of(std::uint64_t budget, std::uint64_t pictures) noexcept;

  IndexHeader& header() const noexcept;
  IndexRecord* record_at(std::uint64_t word, const IndexKey& key) const noexcept;
  RecordPlace find(const IndexKey& key) const noexcept;
  IndexRecord* place(const IndexKey& key, const IndexShape& shape, RecordPlace at) noexcept;
  std::uint64_t allocate(std::uint64_t bytes) noexcept;
  bool has_room(const IndexRecord& record, std::uint64_t entries) const noexcept;

  const SharedFile file_;
  const Mapping mapping_;
  const IndexGeometry geometry_;
};

}  // namespace drapps::jpeg
