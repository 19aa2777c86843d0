#include "drapps/shm/block_arena.h"

#include <algorithm>
#include <bit>
#include <iterator>
#include <string>
#include <utility>

namespace drapps {
namespace {

constexpr std::uint64_t kFineBytes = std::uint64_t{32} << 10;  // up to here, classes are whole pages
constexpr std::uint32_t kFineClasses = kFineBytes / kPageBytes;
// Allocations in a stretch: some batches of every size, so that its peak has seen the queue both full and empty.
constexpr std::uint32_t kStretch = 128;
// A region with no more than this in spare does not look at what the others have.
constexpr std::uint64_t kLittle = BlockArena::kSpareBytes / 16;

}  // namespace

BlockArena::BlockArena(std::shared_ptr<BlockRegions> memory, std::uint32_t region)
    : memory_(std::move(memory)), region_(region), end_(memory_->region_begin(region)) {}

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
  FreeBlocks& spare = free_[class_of(size)];
  std::uint64_t block = 0;
  if (!spare.backed.empty()) {
    block = spare.backed.back();
    spare.backed.pop_back();
    spare_ -= size;
  } else if (!spare.punched.empty()) {
    block = spare.punched.back();
    if (Status mapped = map_again(block); !mapped.ok()) return std::move(mapped).error();
    spare.punched.pop_back();
  } else {
    auto offset = new_block(size);
    if (!offset.ok()) return std::move(offset).error();
    block = *offset;
  }
  in_use_ += size;
  if (++allocations_ == kStretch) {
    allocations_ = 0;
    last_peak_ = std::exchange(peak_, in_use_);
  }
  give_back(size > kLittle);
  KnownBlock& known = blocks_.find(block)->second;
  known.sent = false;
  known.free = false;
  MappedBlock{known.range, block}.header().holds.store(kMakerHold, std::memory_order_relaxed);
  return block;
}

Result<std::uint64_t> BlockArena::new_block(std::uint64_t size) {
  if (size <= kLargestShared) return cut(size);
  auto range = new_range(size);
  if (!range.ok()) return std::move(range).error();
  const std::uint64_t block = (*range)->begin();
  blocks_.emplace(block, KnownBlock{.range = *std::move(range), .size = size});
  return block;
}

/// A block of `size`, cut from the range that small blocks are cut from, or from a new one where that has no room.
Result<std::uint64_t> BlockArena::cut(std::uint64_t size) {
  if (shared_ == nullptr || size > shared_->end() - uncut_) {
    auto range = new_range(size);
    if (!range.ok()) return std::move(range).error();
    shared_ = *std::move(range);
    uncut_ = shared_->begin();
  }
  const std::uint64_t block = uncut_;
  const std::uint64_t end = block + size;
  blocks_.emplace(block, KnownBlock{.range = shared_, .size = size});
  uncut_ = end;
  // Whatever ends this process in between, the blocks of the range fill it.
  if (end < shared_->end()) {
    BlockHeader& rest = MappedBlock{shared_, end}.header();
    rest.next.store(kUncut, std::memory_order_relaxed);
    rest.size.store(shared_->end() - end, std::memory_order_relaxed);
  }
  BlockHeader& header = MappedBlock{shared_, block}.header();
  header.size.store(size, std::memory_order_release);
  header.holds.store(kMakerHold, std::memory_order_relaxed);
  header.next.store(0, std::memory_order_release);
  return block;
}

/// A range behind all others, for one block of so many bytes, or from which such can be cut.
Result<std::shared_ptr<const MappedRange>> BlockArena::new_range(std::uint64_t bytes) {
  RegionEntry& region = memory_->region(region_);
  const std::uint64_t begin = end_;
  if (begin >= memory_->region_end(region_) || bytes > memory_->region_end(region_) - begin) {
    return Error{.code = ErrorCode::kResourceExhausted,
                 .stage = Stage::kDeliver,
                 .message = "all " + std::to_string(memory_->region_bytes()) +
                            " bytes that a process may share are taken; drop earlier batches, or make smaller ones"};
  }
  const std::uint64_t end = std::max(begin + bytes, memory_->shared_range(begin).second);
  auto range = memory_->map(begin, end);
  if (!range.ok()) return std::move(range).error();
  BlockHeader& header = MappedBlock{*range, begin}.header();
  const bool large = bytes > kLargestShared;
  header.holds.store(large ? kMakerHold : 0, std::memory_order_relaxed);
  header.next.store(large ? 0 : kUncut, std::memory_order_relaxed);
  header.size.store(large ? bytes : end - begin, std::memory_order_relaxed);
  end_ = memory_->shared_range(end - 1).second;
  region.end.store(end_, std::memory_order_release);  // the parent may walk over it from now on
  return range;
}

/// A large block has no mapping while it has no pages.
Status BlockArena::map_again(std::uint64_t block) {
  KnownBlock& known = blocks_.find(block)->second;
  if (known.range != nullptr) return ok_status();
  auto range = memory_->map(block, std::max(block + known.size, memory_->shared_range(block).second));
  if (!range.ok()) return std::move(range).error();
  known.range = *std::move(range);
  return ok_status();
}

std::optional<std::uint64_t> BlockArena::unsent_block_of(std::span<const std::byte> data) {
  const auto offset = memory_->offset_of(data.data());
  if (!offset) return std::nullopt;
  const std::scoped_lock lock(mutex_);
  const auto after = blocks_.upper_bound(*offset);
  if (after == blocks_.begin()) return std::nullopt;
  const auto& [block, known] = *std::prev(after);
  if (known.range == nullptr || known.sent) return std::nullopt;
  const bool inside = *offset >= block + sizeof(BlockHeader) && *offset + data.size() <= block + known.size;
  const bool held = (MappedBlock{known.range, block}.header().holds.load(std::memory_order_relaxed) & kMakerHold) != 0;
  return inside && held ? std::optional(block) : std::nullopt;
}

void BlockArena::send(std::uint64_t block) {
  const std::scoped_lock lock(mutex_);
  KnownBlock& known = blocks_.find(block)->second;
  MappedBlock{known.range, block}.header().holds.fetch_or(kSentHold);
  known.sent = true;
}

void BlockArena::tidy() {
  // Looked at without the lock: when there is nothing to do, this costs nothing.
  const RegionEntry& region = memory_->region(region_);
  const bool released = region.released.load(std::memory_order_relaxed) != 0;
  if (!(released || region.spare.load(std::memory_order_relaxed) > kLittle) || !memory_->mine()) return;
  const std::scoped_lock lock(mutex_);
  take_released();
  give_back(false);
}

void BlockArena::take_released() {
  std::atomic<std::uint64_t>& released = memory_->region(region_).released;
  if (released.load(std::memory_order_relaxed) == 0) return;
  std::uint64_t block = released.exchange(0, std::memory_order_acquire);
  for (;;) {
    const auto record = blocks_.find(block);
    // What is not on these books was never released, and the list goes no further.
    if (record == blocks_.end() || record->second.free) return;
    KnownBlock& known = record->second;
    known.free = true;
    free_[class_of(known.size)].backed.push_back(block);
    in_use_ -= known.size;
    spare_ += known.size;
    block = MappedBlock{known.range, block}.header().next.load(std::memory_order_relaxed);
  }
}

/// @param look  look at all regions even where little is in spare here: much has come into use.
void BlockArena::give_back(bool look) {
  RegionEntry& region = memory_->region(region_);
  region.in_use.store(in_use_, std::memory_order_relaxed);
  region.spare.store(spare_, std::memory_order_relaxed);
  peak_ = std::max(peak_, in_use_);
  if (!look && spare_ <= kLittle) return;
  const auto [in_use, spare] = memory_->in_use_and_spare();
  peak_ = std::max(peak_, in_use);
  const std::uint64_t kept = std::max(peak_, last_peak_) + kSpareBytes;
  std::uint64_t most = spare_;  // bytes that may stay in spare here
  if (in_use + spare > kept) most -= std::min(most, in_use + spare - kept);
  for (std::size_t i = kClasses; spare_ > most && i-- > 0;) {
    auto& [backed, punched] = free_[i];
    while (spare_ > most && !backed.empty()) {
      const std::uint64_t block = backed.back();
      KnownBlock& known = blocks_.find(block)->second;
      memory_->punch(block + sizeof(BlockHeader), block + known.size);
      if (known.size > kLargestShared) {
        known.range = nullptr;
        memory_->forget(block, block + 1);
      }
      spare_ -= known.size;
      backed.pop_back();
      punched.push_back(block);
    }
  }
  region.spare.store(spare_, std::memory_order_relaxed);
}

}  // namespace drapps
