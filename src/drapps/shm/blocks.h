// Regions of shared memory, each cut into blocks by one process: who holds a block, and how it goes back.
//
// A block is made in its maker's region and held by up to three parties: the maker, a result that was sent, and holders
// in the process that receives it. Whoever releases it last puts the block on its region's list of released blocks,
// from which the maker takes it again. Where the maker is dead its pages go back to the system instead.
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
#include <span>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/shm/file.h"

namespace drapps {

/// Before each block. Its data follow, aligned to 64 bytes.
struct alignas(64) BlockHeader {
  std::uint64_t size;               // of the block, this header included; never changes
  std::atomic<std::uint64_t> next;  // in the list of released blocks
  std::atomic<std::uint32_t> holds;
};
static_assert(sizeof(BlockHeader) == 64);

/// Who holds a block: bits of BlockHeader::holds. The lower bits count the holders in the process that received it.
inline constexpr std::uint32_t kMakerHold = std::uint32_t{1} << 31;  // the process whose region it is in
inline constexpr std::uint32_t kSentHold = std::uint32_t{1} << 30;   // a result that refers to it

/// The shared part of a region's book: all that others need once its process is dead.
struct alignas(64) RegionEntry {
  std::atomic<std::uint64_t> end;       // blocks stand one after the other up to here
  std::atomic<std::uint64_t> released;  // blocks that nobody holds, linked by BlockHeader::next
  std::atomic<std::uint32_t> orphaned;  // 1: its process is dead
};

/// Where the regions are in a mapping.
struct RegionPlan {
  std::uint64_t books_offset = 0;  // of the RegionEntries
  std::uint64_t data_offset = 0;   // of region 0; whole pages
  std::uint64_t region_bytes = 0;  // whole pages
  std::uint32_t regions = 0;
};

/// All of it may be called from any thread; takes no lock.
class BlockRegions {
 public:
  /// @param mapping  holds books and regions; zeros, at first.
  BlockRegions(Mapping mapping, const RegionPlan& plan);
  virtual ~BlockRegions() = default;
  BlockRegions(const BlockRegions&) = delete;
  BlockRegions& operator=(const BlockRegions&) = delete;

  /// Makes all regions empty. By who makes the memory, before others see it.
  void clear() noexcept;
  /// Whether this is the process that mapped it, not a child of that.
  bool mine() const noexcept;

  std::uint32_t regions() const noexcept { return plan_.regions; }
  std::uint64_t region_bytes() const noexcept { return plan_.region_bytes; }
  RegionEntry& region(std::uint32_t region) const noexcept { return books_[region]; }
  std::uint64_t region_begin(std::uint32_t region) const noexcept {
    return plan_.data_offset + region * plan_.region_bytes;
  }
  std::uint64_t region_end(std::uint32_t region) const noexcept { return region_begin(region + 1); }
  /// Up to where a region has blocks, as its process says, within its bounds.
  std::uint64_t blocks_end(std::uint32_t region) const noexcept;
  /// Requires is_block().
  std::uint32_t region_of(std::uint64_t block) const noexcept {
    return static_cast<std::uint32_t>((block - plan_.data_offset) / plan_.region_bytes);
  }

  /// Whether a block may stand there: all that it says it holds is memory of its region.
  bool is_block(std::uint64_t block) const noexcept;
  /// `bytes` from `start` on of a block's data. kCorrupt where there is no such block, or no such bytes in it.
  Result<std::span<std::byte>> data_at(std::uint64_t block, std::uint64_t start, std::uint64_t bytes) const;

  // What this process has made itself, or has looked at with is_block().
  std::byte* at(std::uint64_t offset) const noexcept { return mapping_.data() + offset; }
  BlockHeader& block(std::uint64_t block) const noexcept { return *reinterpret_cast<BlockHeader*>(at(block)); }
  std::byte* data_of(std::uint64_t block) const noexcept { return at(block) + sizeof(BlockHeader); }
  std::uint64_t offset_of(const std::byte* data) const noexcept {
    return static_cast<std::uint64_t>(data - mapping_.data());
  }

  /// Releases a block: `which` is kMakerHold, kSentHold, or 1 for a holder in the process that received it. A bit
  /// that is not set is left alone, and so is what is no block.
  void release_hold(std::uint64_t block, std::uint32_t which) const noexcept;
  /// Gives the whole pages within [begin, end) back to the system; they read as zeros afterwards.
  void punch(std::uint64_t begin, std::uint64_t end) const noexcept;
  /// The pages of a block's data; that of its header stays.
  void punch_data(std::uint64_t block) const noexcept;
  /// Gives the pages of a dead process's released blocks back to the system.
  void punch_released(std::uint32_t region) const noexcept;
  /// Threads of this process that are releasing a block of a region right now.
  std::uint32_t releasing(std::uint32_t region) const noexcept { return releasing_[region].load(); }

  /// Calls `visit(block)` for each block of a region, in the order of their making. False where that order leads out of
  /// the region: not all were visited.
  template <class Visit>
  bool for_each_block(std::uint32_t region, const Visit& visit) const {
    const std::uint64_t end = blocks_end(region);
    std::uint64_t block = region_begin(region);
    while (block < end && is_block(block)) {
      const std::uint64_t next = block + this->block(block).size;
      visit(block);
      block = next;
    }
    return block == end;
  }

 private:
  const Mapping mapping_;
  const RegionPlan plan_;
  const pid_t mapper_;
  RegionEntry* const books_;
  const std::unique_ptr<std::atomic<std::uint32_t>[]> releasing_;
};

/// Holds a block, and the mapping. Dropped from any thread; in a process that did not make the handle (a child that
/// inherited it), dropping does nothing.
class BlockHandle {
 public:
  /// Takes over one hold that exists already.
  BlockHandle(std::shared_ptr<BlockRegions> memory, std::uint64_t block, std::uint32_t which) noexcept
      : memory_(std::move(memory)), block_(block), which_(which) {}
  BlockHandle(BlockHandle&& other) noexcept = default;
  BlockHandle& operator=(BlockHandle&&) = delete;
  ~BlockHandle() {
    if (memory_ != nullptr && memory_->mine()) memory_->release_hold(block_, which_);
  }

  std::uint64_t block() const noexcept { return block_; }
  std::byte* data() const noexcept { return memory_->data_of(block_); }

 private:
  std::shared_ptr<BlockRegions> memory_;
  std::uint64_t block_;
  std::uint32_t which_;
};

}  // namespace drapps
