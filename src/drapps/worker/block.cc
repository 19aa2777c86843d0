#include "drapps/worker/block.h"

namespace drapps {
namespace {

/// Whether this was the last hold.
bool let_go(BlockHeader& header, std::uint32_t which) noexcept {
  if (which == 1) return header.holds.fetch_sub(1) == 1;
  return header.holds.fetch_and(~which) == which;
}

void push_released(const Memory& memory, RegionEntry& region, std::uint64_t block) noexcept {
  BlockHeader& header = memory.block(block);
  std::uint64_t head = region.released.load(std::memory_order_relaxed);
  do header.next.store(head, std::memory_order_relaxed);
  while (!region.released.compare_exchange_weak(head, block));
}

}  // namespace

void drop_hold(const Memory& memory, std::uint64_t block, std::uint32_t which) noexcept {
  const std::uint32_t index = memory.region_of(block);
  RegionEntry& region = memory.region(index);
  // A region starts anew only when nobody is in here: from the drop on, the block may look free to others.
  memory.releasing(index).fetch_add(1);
  if (let_go(memory.block(block), which)) {
    push_released(memory, region, block);
    // Either this thread sees that the maker is dead, or the parent finds the block on the list when it buries.
    if (region.orphaned.load() != 0) punch_released(memory, index);
  }
  memory.releasing(index).fetch_sub(1);
}

void punch_released(const Memory& memory, std::uint32_t region) noexcept {
  std::uint64_t block = memory.region(region).released.exchange(0);
  while (block != 0) {
    const std::uint64_t next = memory.block(block).next.load(std::memory_order_relaxed);
    punch_data(memory, block);
    block = next;
  }
}

}  // namespace drapps
