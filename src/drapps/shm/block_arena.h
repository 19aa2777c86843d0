// A process's own region of the shared memory, cut into blocks.
//
//   auto block = arena.allocate(bytes);
//   auto mapped = arena.memory()->find(*block);  // mapped->data() is to be filled
//   arena.send(*block);
//   arena.memory()->release_hold(*mapped, kMakerHold);
//
// 1. A block has one of few sizes: whole pages up to 32 KiB, then eight sizes to each power of two, so at most an
//    eighth is lost. Blocks are never split or merged; one is used again for the same size only. A loader asks for the
//    same few sizes all the time, so its regions stop growing after the first batches. What a region grows by is mapped
//    then, and a large block only while it has pages.
// 2. Only the region's process allocates, in private books, which it believes rather than what others may have
//    overwritten; what the parent needs after a death is in the blocks' headers and in RegionEntry.
// 3. Spare blocks keep their pages, because a page fault costs more than copying the page. All regions together keep as
//    many bytes as were in use at once lately, and 64 MiB; spare pages beyond that go back to the system.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/shm/blocks.h"

namespace drapps {

/// Thread-safe within its process. In any other process it allocates nothing.
class BlockArena {
 public:
  static constexpr std::uint64_t kSpareBytes = std::uint64_t{64} << 20;

  BlockArena(std::shared_ptr<BlockRegions> memory, std::uint32_t region);

  /// A block for `bytes` of data, held by its maker. Its contents are those of an earlier use, or zeros.
  /// kResourceExhausted where the region has no room.
  Result<std::uint64_t> allocate(std::uint64_t bytes);
  /// The block that holds all of `data`, if it is one of this region, held by its maker, that was never sent.
  std::optional<std::uint64_t> unsent_block_of(std::span<const std::byte> data);
  /// Says that a result refers to a block from here on.
  void send(std::uint64_t block);
  /// Takes what was released, and returns to the system what is too much. Done by allocate() too.
  void tidy();

  const std::shared_ptr<BlockRegions>& memory() const noexcept { return memory_; }

  /// Size of the blocks in which `bytes`, the header included, find place.
  static std::uint64_t block_size(std::uint64_t bytes) noexcept;

 private:
  static constexpr std::size_t kClasses = 512;

  struct KnownBlock {
    std::shared_ptr<const MappedRange> range;  // null while a large block has no pages
    std::uint64_t size;
    bool sent = false;
    bool free = false;
  };
  using Blocks = std::map<std::uint64_t, KnownBlock>;  // by offset
  struct FreeBlocks {
    std::vector<std::uint64_t> backed;   // offsets of blocks with pages
    std::vector<std::uint64_t> punched;  // offsets of blocks without pages
  };

  static std::size_t class_of(std::uint64_t size) noexcept;
  void take_released();
  void give_back(bool look);
  Result<std::uint64_t> new_block(std::uint64_t size);
  Result<std::shared_ptr<const MappedRange>> new_range(std::uint64_t bytes);
  Result<std::uint64_t> cut(std::uint64_t size);
  Status map_again(std::uint64_t block);

  const std::shared_ptr<BlockRegions> memory_;
  const std::uint32_t region_;

  std::mutex mutex_;  // guards all below
  Blocks blocks_;
  std::array<FreeBlocks, kClasses> free_;
  std::shared_ptr<const MappedRange> shared_;  // small blocks are cut from it
  std::uint64_t uncut_ = 0;                    // from here on nothing of shared_ is cut off yet
  std::uint64_t end_;                          // of the region's ranges
  std::uint64_t in_use_ = 0;                   // bytes of blocks that somebody holds
  std::uint64_t spare_ = 0;                    // bytes of free blocks that are backed
  std::uint64_t peak_ = 0;                     // most bytes in use, of all regions, in this stretch of allocations
  std::uint64_t last_peak_ = 0;
  std::uint32_t allocations_ = 0;  // in this stretch
};

}  // namespace drapps
