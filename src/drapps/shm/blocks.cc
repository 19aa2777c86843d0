#include "drapps/shm/blocks.h"

#include <unistd.h>

#include <algorithm>
#include <string>

#include "drapps/base/caught.h"

namespace drapps {
namespace {

constexpr std::uint64_t kNoBlock = 0;  // no block lies there: books come first

/// Whether this was the last hold.
bool let_go(BlockHeader& header, std::uint32_t which) noexcept {
  if (which == 1) return header.holds.fetch_sub(1) == 1;
  return header.holds.fetch_and(~which) == which;
}

void push_released(RegionEntry& region, const MappedBlock& block) noexcept {
  BlockHeader& header = block.header();
  std::uint64_t head = region.released.load(std::memory_order_relaxed);
  do header.next.store(head, std::memory_order_relaxed);
  while (!region.released.compare_exchange_weak(head, block.offset));
}

bool is_size(std::uint64_t size) noexcept { return size >= kPageBytes && size % kPageBytes == 0; }

Error not_there(std::uint64_t block, std::uint64_t start, std::uint64_t bytes) {
  return Error{.code = ErrorCode::kCorrupt,
               .stage = Stage::kDeliver,
               .message = "shared memory names " + std::to_string(bytes) + " bytes at " + std::to_string(start) +
                          " of a block at " + std::to_string(block) +
                          ", which is not there: a process that shares it has written where it must not, as native "
                          "code does that writes beyond an array's end"};
}

}  // namespace

std::uint64_t MappedBlock::room() const noexcept {
  const std::uint64_t size = std::min(header().size.load(std::memory_order_relaxed), range->end() - offset);
  return size < sizeof(BlockHeader) ? 0 : size - sizeof(BlockHeader);
}

BlockRegions::BlockRegions(Mapping books, SharedFile file, const RegionPlan& plan)
    : books_(std::move(books)),
      plan_(plan),
      mapper_(getpid()),
      entries_(reinterpret_cast<RegionEntry*>(books_.data() + plan.books_offset)),
      releasing_(std::make_unique<std::atomic<std::uint32_t>[]>(plan.regions)),
      ranges_(std::make_unique<MappedRanges>(std::move(file))) {}

void BlockRegions::clear() noexcept {
  for (std::uint32_t i = 0; i < plan_.regions; ++i) region(i).end = region_begin(i);
}

bool BlockRegions::mine() const noexcept { return getpid() == mapper_; }

std::uint64_t BlockRegions::blocks_end(std::uint32_t region) const noexcept {
  return std::clamp(entries_[region].end.load(std::memory_order_acquire), region_begin(region), region_end(region));
}

std::pair<std::uint64_t, std::uint64_t> BlockRegions::shared_range(std::uint64_t offset) const noexcept {
  const std::uint32_t region = region_of(offset);
  const std::uint64_t begin = offset - (offset - region_begin(region)) % kSharedRangeBytes;
  return {begin, std::min(begin + kSharedRangeBytes, region_end(region))};
}

Result<MappedBlock> BlockRegions::find(std::uint64_t block) const {
  if (block % kPageBytes != 0 || block < plan_.data_offset || block >= region_begin(plan_.regions)) {
    return not_there(block, 0, 0);
  }
  auto [begin, end] = shared_range(block);
  MappedBlock view{.range = ranges_->find(begin, end), .offset = block};
  if (view.range == nullptr || (block == begin && !within_range(view))) {
    // Mapped once for all where it is a large one.
    const std::uint64_t size = block == begin ? ranges_->file().read_word(block) : 0;
    if (is_size(size) && size <= region_end(region_of(block)) - block) end = std::max(end, block + size);
    auto range = ranges_->map(begin, end);
    if (!range.ok()) return std::move(range).error();
    view.range = *std::move(range);
  }
  if (!within_range(view)) return not_there(block, 0, 0);
  return view;
}

Result<BlockBytes> BlockRegions::data_at(std::uint64_t block, std::uint64_t start, std::uint64_t bytes) const {
  auto view = find(block);
  if (!view.ok() && view.error().code != ErrorCode::kCorrupt) return std::move(view).error();
  const std::uint64_t room = view.ok() ? view->room() : 0;
  if (start > room || bytes > room - start || !view.ok()) return not_there(block, start, bytes);
  const std::span data(view->data() + start, bytes);
  return BlockBytes{.block = *std::move(view), .data = data};
}

void BlockRegions::release_hold(const MappedBlock& block, std::uint32_t which) const noexcept {
  const std::uint32_t index = region_of(block.offset);
  RegionEntry& region = this->region(index);
  // A region starts anew only when nobody is in here: from the drop on, the block may look free to others.
  releasing_[index].fetch_add(1);
  if (let_go(block.header(), which)) {
    push_released(region, block);
    // Either this thread sees that the maker is dead, or who clears up after it finds the block on the list.
    if (region.orphaned.load() != 0) punch_released(index);
  }
  releasing_[index].fetch_sub(1);
}

void BlockRegions::release_hold(std::uint64_t block, std::uint32_t which) const noexcept {
  if (const auto view = catching([&] { return find(block); }); view.ok()) release_hold(*view, which);
}

void BlockRegions::punch(std::uint64_t begin, std::uint64_t end) const noexcept {
  const auto [first, last] = whole_pages(begin, end);
  if (first < last) ranges_->file().punch(first, last - first);
}

void BlockRegions::punch_data(const MappedBlock& block) noexcept {
  const std::uint64_t data = block.offset + sizeof(BlockHeader);
  block.range->punch(data, data + block.room());
}

std::pair<std::uint64_t, std::uint64_t> BlockRegions::in_use_and_spare() const noexcept {
  std::uint64_t in_use = 0;
  std::uint64_t spare = 0;
  for (std::uint32_t i = 0; i < plan_.regions; ++i) {
    in_use += entries_[i].in_use.load(std::memory_order_relaxed);
    spare += entries_[i].spare.load(std::memory_order_relaxed);
  }
  return {in_use, spare};
}

void BlockRegions::punch_released(std::uint32_t region) const noexcept {
  std::uint64_t offset = this->region(region).released.exchange(0);
  for (;;) {
    const auto block = catching([&] { return find(offset); });
    if (!block.ok()) return;
    // Ends a list that runs in a circle.
    offset = block->header().next.exchange(kNoBlock, std::memory_order_relaxed);
    punch_data(*block);
  }
}

/// Whether all that a block says it is lies in what is mapped.
bool BlockRegions::within_range(const MappedBlock& block) noexcept {
  const std::uint64_t size = block.header().size.load(std::memory_order_relaxed);
  return is_size(size) && size <= block.range->end() - block.offset;
}

/// Where the next block stands.
std::uint64_t BlockRegions::behind(const MappedBlock& block) const noexcept {
  const std::uint64_t end = block.offset + sizeof(BlockHeader) + block.room();
  if (end - block.offset <= kLargestShared) return end;
  // What is left of the range of a large one is nobody's.
  const std::uint32_t region = region_of(block.offset);
  return std::min(region_begin(region) + round_up(end - region_begin(region), kSharedRangeBytes), region_end(region));
}

BlockHandle::~BlockHandle() {
  if (block_.range == nullptr || !block_.range->mine()) return;
  if (const auto memory = memory_.lock()) {
    memory->release_hold(block_, which_);
  } else if (let_go(block_.header(), which_)) {  // nobody else is left to use it again
    block_.range->punch(block_.offset, block_.offset + sizeof(BlockHeader) + block_.room());
  }
}

}  // namespace drapps
