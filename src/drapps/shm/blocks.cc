#include "drapps/shm/blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

namespace drapps {
namespace {

constexpr std::uint64_t kNoBlock = 0;  // books come first

/// Whether this was the last hold.
bool let_go(BlockHeader& header, std::uint32_t which) noexcept {
  if (which == 1) return header.holds.fetch_sub(1) == 1;
  return header.holds.fetch_and(~which) == which;
}

void push_released(const BlockRegions& memory, RegionEntry& region, std::uint64_t block) noexcept {
  BlockHeader& header = memory.block(block);
  std::uint64_t head = region.released.load(std::memory_order_relaxed);
  do header.next.store(head, std::memory_order_relaxed);
  while (!region.released.compare_exchange_weak(head, block));
}

}  // namespace

BlockRegions::BlockRegions(Mapping mapping, const RegionPlan& plan)
    : mapping_(std::move(mapping)),
      plan_(plan),
      mapper_(getpid()),
      books_(reinterpret_cast<RegionEntry*>(mapping_.data() + plan.books_offset)),
      releasing_(std::make_unique<std::atomic<std::uint32_t>[]>(plan.regions)) {}

void BlockRegions::clear() noexcept {
  for (std::uint32_t i = 0; i < plan_.regions; ++i) region(i).end = region_begin(i);
}

bool BlockRegions::mine() const noexcept { return getpid() == mapper_; }

std::uint64_t BlockRegions::blocks_end(std::uint32_t region) const noexcept {
  return std::clamp(books_[region].end.load(std::memory_order_acquire), region_begin(region), region_end(region));
}

bool BlockRegions::is_block(std::uint64_t block) const noexcept {
  if (block % kPageBytes != 0 || block < plan_.data_offset || block >= region_begin(plan_.regions)) return false;
  const std::uint64_t size = this->block(block).size;
  return size >= kPageBytes && size % kPageBytes == 0 && size <= region_end(region_of(block)) - block;
}

Result<std::span<std::byte>> BlockRegions::data_at(std::uint64_t block, std::uint64_t start,
                                                   std::uint64_t bytes) const {
  // The size is read once: whoever wrote it may still be writing.
  const std::uint64_t room = is_block(block) ? region_end(region_of(block)) - block : 0;
  const std::uint64_t size = room == 0 ? 0 : std::min(this->block(block).size, room);
  if (size < sizeof(BlockHeader) || start > size - sizeof(BlockHeader) || bytes > size - sizeof(BlockHeader) - start) {
    return Error{.code = ErrorCode::kCorrupt,
                 .stage = Stage::kDeliver,
                 .message = "shared memory names " + std::to_string(bytes) + " bytes at " + std::to_string(start) +
                            " of a block at " + std::to_string(block) +
                            ", which is not there: a process that shares it has written where it must not, as native "
                            "code does that writes beyond an array's end"};
  }
  return std::span(data_of(block) + start, bytes);
}

void BlockRegions::release_hold(std::uint64_t block, std::uint32_t which) const noexcept {
  if (!is_block(block)) return;
  const std::uint32_t index = region_of(block);
  RegionEntry& region = this->region(index);
  // A region starts anew only when nobody is in here: from the drop on, the block may look free to others.
  releasing_[index].fetch_add(1);
  if (let_go(this->block(block), which)) {
    push_released(*this, region, block);
    // Either this thread sees that the maker is dead, or who clears up after it finds the block on the list.
    if (region.orphaned.load() != 0) punch_released(index);
  }
  releasing_[index].fetch_sub(1);
}

void BlockRegions::punch(std::uint64_t begin, std::uint64_t end) const noexcept {
  static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  begin = round_up(begin, page);
  end = end / page * page;
  if (begin < end) madvise(at(begin), end - begin, MADV_REMOVE);
}

void BlockRegions::punch_data(std::uint64_t block) const noexcept {
  if (is_block(block)) punch(block + sizeof(BlockHeader), block + this->block(block).size);
}

void BlockRegions::punch_released(std::uint32_t region) const noexcept {
  std::uint64_t block = this->region(region).released.exchange(0);
  while (is_block(block)) {
    // Ends a list that runs in a circle.
    const std::uint64_t next = this->block(block).next.exchange(kNoBlock, std::memory_order_relaxed);
    punch_data(block);
    block = next;
  }
}

}  // namespace drapps
