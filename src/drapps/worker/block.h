// Blocks of shared memory: who holds them, and how they go back.
//
// A block is made in its maker's region and held by up to three parties: the maker, a result that was sent, and holders
// in the parent. Whoever lets go last puts the block on its region's list of released blocks, from which the maker
// takes it again. Where the maker is dead its pages go back to the system instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "drapps/worker/memory.h"

namespace drapps {

/// Lets go of a block: `which` is kMakerHold, kSentHold, or 1 for a holder in the parent. A bit that is not set is
/// left alone. From any thread of a process that may hold it; takes no lock.
void drop_hold(const Memory& memory, std::uint64_t block, std::uint32_t which) noexcept;

/// Gives the pages of a dead process's released blocks back to the system. By the parent.
void punch_released(const Memory& memory, std::uint32_t region) noexcept;

/// The pages of a block's data; that of its header stays.
inline void punch_data(const Memory& memory, std::uint64_t block) noexcept {
  memory.punch(block + sizeof(BlockHeader), block + memory.block(block).size);
}

/// Calls `visit(block)` for each block of a region, in the order of their making.
template <class Visit>
void for_each_block(const Memory& memory, std::uint32_t region, const Visit& visit) {
  const std::uint64_t end = memory.region(region).end.load(std::memory_order_acquire);
  for (std::uint64_t block = memory.region_begin(region); block < end; block += memory.block(block).size) visit(block);
}

/// Holds a block, and the mapping. Dropped from any thread; in a process that did not make the handle (a child that
/// inherited it), dropping does nothing.
class BlockHandle {
 public:
  /// Takes over one hold that exists already.
  BlockHandle(std::shared_ptr<Memory> memory, std::uint64_t block, std::uint32_t which) noexcept
      : memory_(std::move(memory)), block_(block), which_(which) {}
  BlockHandle(BlockHandle&& other) noexcept = default;
  BlockHandle& operator=(BlockHandle&&) = delete;
  ~BlockHandle() {
    if (memory_ != nullptr && memory_->mine()) drop_hold(*memory_, block_, which_);
  }

  std::uint64_t block() const noexcept { return block_; }
  std::byte* data() const noexcept { return memory_->data_of(block_); }

 private:
  std::shared_ptr<Memory> memory_;
  std::uint64_t block_;
  std::uint32_t which_;
};

}  // namespace drapps
