// Regions of shared memory, each cut into blocks by one process: who holds a block, and how it goes back.
//
// A block is made in its maker's region and held by up to three parties: the maker, a result that was sent, and holders
// in the process that receives it. Whoever releases it last puts the block on its region's list of released blocks,
// from which the maker takes it again. Where the maker is dead its pages go back to the system instead.
//
// A region is far larger than what is ever used of it, and is mapped in ranges, as they are needed:
//   - small blocks share ranges of kSharedRangeBytes, one behind the other; what is not cut off yet is a block that
//     nobody makes use of, so that the blocks of a range always fill it;
//   - a large block begins a range of its own.
// A range begins at a multiple of kSharedRangeBytes in its region, so that the offset of a block says which one it is
// in. It stays mapped while somebody has a block of it, whatever becomes of the rest: a block that is kept costs no
// more.
//
// Blocks are named by their offsets, which other processes write. A process that writes where it must not may have
// written anything, so every offset and size read here is held against the bounds of its region before it is used; what
// is wrong is left alone, or an error where somebody asked for it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/shm/file.h"
#include "drapps/shm/mapped_ranges.h"

namespace drapps {

/// Before each block. Its data follow, aligned to 64 bytes.
struct alignas(64) BlockHeader {
  std::atomic<std::uint64_t> size;  // of the block, this header included; changes only while it is uncut
  std::atomic<std::uint64_t> next;  // the next one in the list of released blocks, or kUncut
  std::atomic<std::uint32_t> holds;
};
static_assert(sizeof(BlockHeader) == 64);

/// BlockHeader::next of what small blocks are still to be cut from.
inline constexpr std::uint64_t kUncut = ~std::uint64_t{0};

/// Bytes of a range that small blocks share: as much as one page of page tables maps.
inline constexpr std::uint64_t kSharedRangeBytes = std::uint64_t{2} << 20;
/// Bytes of the largest block that shares a range, so that little is left over at the range's end.
inline constexpr std::uint64_t kLargestShared = kSharedRangeBytes / 4;

/// Who holds a block: bits of BlockHeader::holds. The lower bits count the holders in the process that received it.
inline constexpr std::uint32_t kMakerHold = std::uint32_t{1} << 31;  // the process whose region it is in
inline constexpr std::uint32_t kSentHold = std::uint32_t{1} << 30;   // a result that refers to it

/// The shared part of a region's book: all that others need once its process is dead.
struct alignas(64) RegionEntry {
  std::atomic<std::uint64_t> end;       // ranges stand one after the other up to here, where another may begin
  std::atomic<std::uint64_t> released;  // blocks that nobody holds, linked by BlockHeader::next
  std::atomic<std::uint32_t> orphaned;  // 1: its process is dead
  // Bytes of its blocks with pages, as its process knows them; advice for others.
  std::atomic<std::uint64_t> in_use;
  std::atomic<std::uint64_t> spare;
};

/// Where the regions are in a file.
struct RegionPlan {
  std::uint64_t books_offset = 0;  // of the RegionEntries
  std::uint64_t data_offset = 0;   // of region 0; whole pages
  std::uint64_t region_bytes = 0;  // whole pages
  std::uint32_t regions = 0;
};

/// A block, and the range in which it lies, which stays mapped.
struct MappedBlock {
  std::shared_ptr<const MappedRange> range;
  std::uint64_t offset = 0;

  BlockHeader& header() const noexcept { return *reinterpret_cast<BlockHeader*>(range->at(offset)); }
  std::byte* data() const noexcept { return range->at(offset) + sizeof(BlockHeader); }
  /// Bytes of its data, within the range. Read once: whoever wrote the size may still be writing.
  std::uint64_t room() const noexcept;
};

/// Bytes of a block, and what keeps them mapped.
struct BlockBytes {
  MappedBlock block;
  std::span<std::byte> data;
};

/// All of it may be called from any thread. Waits for no other process.
class BlockRegions {
 public:
  /// @param books  a mapping from the beginning of the file on, with the RegionEntries in it; zeros, at first.
  BlockRegions(Mapping books, SharedFile file, const RegionPlan& plan);
  virtual ~BlockRegions() = default;
  BlockRegions(const BlockRegions&) = delete;
  BlockRegions& operator=(const BlockRegions&) = delete;

  /// Makes all regions empty. By who makes the memory, before others see it.
  void clear() noexcept;
  /// Whether this is the process that mapped it, not a child of that.
  bool mine() const noexcept;

  std::uint32_t regions() const noexcept { return plan_.regions; }
  std::uint64_t region_bytes() const noexcept { return plan_.region_bytes; }
  RegionEntry& region(std::uint32_t region) const noexcept { return entries_[region]; }
  std::uint64_t region_begin(std::uint32_t region) const noexcept {
    return plan_.data_offset + region * plan_.region_bytes;
  }
  std::uint64_t region_end(std::uint32_t region) const noexcept { return region_begin(region + 1); }
  /// Up to where a region has ranges, as its process says, within its bounds.
  std::uint64_t blocks_end(std::uint32_t region) const noexcept;
  /// The region of an offset within the regions.
  std::uint32_t region_of(std::uint64_t offset) const noexcept {
    return static_cast<std::uint32_t>((offset - plan_.data_offset) / plan_.region_bytes);
  }
  /// Where the range begins that small blocks at `offset` are in, and where it ends.
  std::pair<std::uint64_t, std::uint64_t> shared_range(std::uint64_t offset) const noexcept;

  /// A block, mapped where it is not yet: all that it says it holds is memory of its region. kCorrupt where no block
  /// may stand there, kResourceExhausted where it cannot be mapped.
  Result<MappedBlock> find(std::uint64_t block) const;
  /// `bytes` from `start` on of a block's data. Fails as find() does; kCorrupt where there are no such bytes in it.
  Result<BlockBytes> data_at(std::uint64_t block, std::uint64_t start, std::uint64_t bytes) const;

  // For the process whose region it is in.
  /// Maps [begin, end), where it is to make a block.
  Result<std::shared_ptr<const MappedRange>> map(std::uint64_t begin, std::uint64_t end) const {
    return ranges_->map(begin, end);
  }
  /// Lets go of the ranges that begin within [begin, end); who has blocks of them keeps these.
  void forget(std::uint64_t begin, std::uint64_t end) const noexcept { ranges_->forget(begin, end); }
  /// Where in the file something lies; nothing where it lies elsewhere.
  std::optional<std::uint64_t> offset_of(const std::byte* data) const { return ranges_->offset_of(data); }

  /// Releases a block: `which` is kMakerHold, kSentHold, or 1 for a holder in the process that received it. A bit
  /// that is not set is left alone.
  void release_hold(const MappedBlock& block, std::uint32_t which) const noexcept;
  /// Releases the block at an offset; what is no block is left alone.
  void release_hold(std::uint64_t block, std::uint32_t which) const noexcept;
  /// Gives the whole pages within [begin, end) back to the system; they read as zeros afterwards.
  void punch(std::uint64_t begin, std::uint64_t end) const noexcept;
  /// Gives the pages of a block's data back to the system; that of its header stays.
  static void punch_data(const MappedBlock& block) noexcept;
  /// Gives the pages of a dead process's released blocks back to the system.
  void punch_released(std::uint32_t region) const noexcept;
  /// What all regions together have in use, and in spare.
  std::pair<std::uint64_t, std::uint64_t> in_use_and_spare() const noexcept;
  /// How many threads are releasing blocks of a region now.
  std::uint32_t releasing(std::uint32_t region) const noexcept { return releasing_[region].load(); }

  /// Calls `visit(block)` for each MappedBlock of a region, by rising offset. False where that order leads out of the
  /// region, or what is there cannot be mapped: not all were visited.
  template <class Visit>
  bool for_each_block(std::uint32_t region, const Visit& visit) const {
    const std::uint64_t end = blocks_end(region);
    std::uint64_t offset = region_begin(region);
    while (offset < end) {
      const auto block = find(offset);
      if (!block.ok()) return false;
      const std::uint64_t next = behind(*block);
      if (block->header().next.load(std::memory_order_acquire) != kUncut) visit(*block);
      offset = next;
    }
    return offset == end;
  }

 protected:
  const Mapping& books() const noexcept { return books_; }
  const SharedFile& file() const noexcept { return ranges_->file(); }

 private:
  static bool within_range(const MappedBlock& block) noexcept;
  std::uint64_t behind(const MappedBlock& block) const noexcept;

  const Mapping books_;
  const RegionPlan plan_;
  const pid_t mapper_;
  RegionEntry* const entries_;
  const std::unique_ptr<std::atomic<std::uint32_t>[]> releasing_;
  const std::unique_ptr<MappedRanges> ranges_;
};

/// Holds a block, and the mapped range that it lies in, even where all the rest is gone. Dropped from any thread; in a
/// process that did not make the handle (a child that inherited it), dropping does nothing.
class BlockHandle {
 public:
  /// Takes over one hold that exists already.
  BlockHandle(const std::shared_ptr<const BlockRegions>& memory, MappedBlock block, std::uint32_t which) noexcept
      : memory_(memory), block_(std::move(block)), which_(which) {}
  BlockHandle(BlockHandle&& other) noexcept = default;
  BlockHandle& operator=(BlockHandle&&) = delete;
  ~BlockHandle();

  std::uint64_t block() const noexcept { return block_.offset; }
  std::byte* data() const noexcept { return block_.data(); }

 private:
  std::weak_ptr<const BlockRegions> memory_;
  MappedBlock block_;  // without a range once moved from
  std::uint32_t which_;
};

}  // namespace drapps
