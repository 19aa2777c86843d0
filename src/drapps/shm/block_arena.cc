#include "drapps/shm/block_arena.h"

#include <algorithm>
#include <bit>
#include <string>
#include <utility>

namespace drapps {
namespace {

constexpr std::uint64_t kFineBytes = std::uint64_t{32} << 10;  // up to here, classes are whole pages
constexpr std::uint32_t kFineClasses = kFineBytes / kPageBytes;
// Some batches of every size: the peak of a stretch has seen the queue both full and empty.
constexpr std::uint32_t kStretch = 128;

}  // namespace

BlockArena::BlockArena(std::shared_ptr<BlockRegions> memory, std::uint32_t region)
    : memory_(std::move(memory)), region_(region) {}

std::uint64_t BlockArena::block_size(std::uint64_t bytes) noexcept {
  std::uint64_t step = kPageBytes;
  if (bytes > kFineBytes) step = std::bit_floor(bytes - 1) / 8;
  return (bytes + step - 1) / step * step;
}

std::size_t BlockArena::class_of(std::uint64_t size) noexcept {
  if (size <= kFineBytes) return size / kPageBytes - 1;
  const std::uint64_t floor = std::bit_floor(size - 1);
  const auto doubling = static_cast<std::size_t>(std::countr_zero(floor) - std::countr_zero(kFineBytes));
  return kFineClasses + doubling * 8 + (size - floor) / (floor / 8) - 1;
}

std::uint32_t BlockArena::index_of(std::uint64_t offset) const noexcept {
  const auto after = std::ranges::upper_bound(blocks_, offset, {}, &Known::offset);
  return static_cast<std::uint32_t>(after - blocks_.begin()) - 1;
}

Result<std::uint64_t> BlockArena::allocate(std::uint64_t bytes) {
  const std::uint64_t size = bytes > memory_->region_bytes() ? 0 : block_size(bytes + sizeof(BlockHeader));
  if (size == 0 || size > memory_->region_bytes()) {
    return Error{.code = ErrorCode::kTooLarge,
                 .stage = Stage::kDeliver,
                 .message = std::to_string(bytes) + " bytes do not fit the " + std::to_string(memory_->region_bytes()) +
                            " bytes that a process may share; make smaller batches"};
  }
  if (!memory_->mine()) {
    return Error{.stage = Stage::kDeliver,
                 .message = "this memory is another process's; use the engine only in the process that made it"};
  }
  const std::scoped_lock lock(mutex_);
  take_released();
  give_back();
  FreeBlocks& spare = free_[class_of(size)];
  std::uint32_t index = 0;
  if (!spare.backed.empty()) {
    index = spare.backed.back();
    spare.backed.pop_back();
    spare_ -= size;
  } else if (!spare.punched.empty()) {
    index = spare.punched.back();
    spare.punched.pop_back();
  } else {
    auto grown = grow(size);
    if (!grown.ok()) return std::move(grown).error();
    index = *grown;
  }
  in_use_ += size;
  peak_ = std::max(peak_, in_use_);
  if (++allocations_ == kStretch) {
    allocations_ = 0;
    last_peak_ = std::exchange(peak_, in_use_);
  }
  Known& known = blocks_[index];
  known.sent = false;
  known.free = false;
  memory_->block(known.offset).holds.store(kMakerHold, std::memory_order_relaxed);
  return known.offset;
}

Result<std::uint32_t> BlockArena::grow(std::uint64_t size) {
  RegionEntry& region = memory_->region(region_);
  const std::uint64_t offset =
      blocks_.empty() ? memory_->region_begin(region_) : blocks_.back().offset + blocks_.back().size;
  if (size > memory_->region_end(region_) - offset) {
    return Error{.code = ErrorCode::kResourceExhausted,
                 .stage = Stage::kDeliver,
                 .message = "all " + std::to_string(memory_->region_bytes()) +
                            " bytes that a process may share are taken; drop earlier batches, or make smaller ones"};
  }
  blocks_.push_back({.offset = offset, .size = size, .sent = false, .free = false});
  BlockHeader& header = memory_->block(offset);
  header.size = size;
  header.holds.store(kMakerHold, std::memory_order_relaxed);
  region.end.store(offset + size, std::memory_order_release);  // the parent may walk over it from now on
  return static_cast<std::uint32_t>(blocks_.size() - 1);
}

std::optional<std::uint64_t> BlockArena::unsent_block_of(std::span<const std::byte> data) {
  const std::byte* begin = memory_->at(memory_->region_begin(region_));
  const std::byte* end = memory_->at(memory_->region_end(region_));
  if (data.data() < begin || data.data() >= end) return std::nullopt;
  const std::uint64_t offset = memory_->offset_of(data.data());
  const std::scoped_lock lock(mutex_);
  if (blocks_.empty()) return std::nullopt;
  const Known& known = blocks_[index_of(offset)];
  const BlockHeader& header = memory_->block(known.offset);
  const bool inside = offset >= known.offset + sizeof(BlockHeader) && offset + data.size() <= known.offset + known.size;
  const bool held = (header.holds.load(std::memory_order_relaxed) & kMakerHold) != 0;
  if (!inside || !held || known.sent) return std::nullopt;
  return known.offset;
}

void BlockArena::send(std::uint64_t block) {
  memory_->block(block).holds.fetch_or(kSentHold);
  const std::scoped_lock lock(mutex_);
  blocks_[index_of(block)].sent = true;
}

void BlockArena::tidy() {
  // Looked at without the lock: when there is nothing to do, this costs nothing.
  if (memory_->region(region_).released.load(std::memory_order_relaxed) == 0 || !memory_->mine()) return;
  const std::scoped_lock lock(mutex_);
  take_released();
  give_back();
}

void BlockArena::take_released() {
  std::atomic<std::uint64_t>& released = memory_->region(region_).released;
  if (released.load(std::memory_order_relaxed) == 0) return;
  std::uint64_t block = released.exchange(0, std::memory_order_acquire);
  while (block >= memory_->region_begin(region_) && !blocks_.empty()) {
    const std::uint32_t index = index_of(block);
    Known& known = blocks_[index];
    // What is not on these books was never released, and the list goes no further.
    if (known.offset != block || known.free) return;
    known.free = true;
    free_[class_of(known.size)].backed.push_back(index);
    in_use_ -= known.size;
    spare_ += known.size;
    block = memory_->block(block).next.load(std::memory_order_relaxed);
  }
}

void BlockArena::give_back() {
  const std::uint64_t kept = std::max({kSpareBytes, in_use_, peak_, last_peak_});
  for (std::size_t i = kClasses; spare_ > kept && i-- > 0;) {
    FreeBlocks& spare = free_[i];
    while (spare_ > kept && !spare.backed.empty()) {
      const std::uint32_t index = spare.backed.back();
      const Known& known = blocks_[index];
      memory_->punch(known.offset + sizeof(BlockHeader), known.offset + known.size);
      spare_ -= known.size;
      spare.backed.pop_back();
      spare.punched.push_back(index);
    }
  }
}

}  // namespace drapps
