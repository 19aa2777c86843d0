#include "drapps/deliver/slot_arena.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "drapps/base/caught.h"
#include "drapps/deliver/device_room.h"

namespace drapps {
namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Slots beside those that may be filling at a time. A batch that the user drops just after taking the next one needs
// one; the second absorbs jitter.
constexpr std::size_t kExtra = 2;

/// Forks of this process so far, so that a slot can tell whether a child may hold it too.
std::uint64_t fork_count() noexcept {
  static std::atomic<std::uint64_t> forks{0};
  static const int installed = pthread_atfork(nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); }, nullptr);
  static_cast<void>(installed);
  return forks.load(std::memory_order_relaxed);
}

Error delivering(Error error) {
  error.stage = Stage::kDeliver;
  return error;
}

}  // namespace

HeldSlot::~HeldSlot() {
  if (slot_ != nullptr && slot_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) SlotArena::release(slot_);
}

Status HeldSlot::wait_made() const { return slot_->completion == nullptr ? ok_status() : slot_->completion->wait(); }

Result<std::unique_ptr<device::Stream>> HeldSlot::hand_over(std::uintptr_t stream, bool waits) const {
  auto user = slot_->arena->room_->device->foreign_stream(stream);
  if (!user.ok()) return user;
  if (waits && slot_->completion != nullptr) DRAPPS_RETURN_IF_ERROR((*user)->wait(*slot_->completion));
  return user;
}

void HeldSlot::end_use(device::Stream& stream) const noexcept {
  SlotArena& arena = *slot_->arena;
  if (getpid() != arena.maker_) return;
  auto event = arena.room_->device->event();
  if (!event.ok() || !stream.record(**event).ok()) return;  // on a device that was lost, which nobody uses any more
  const std::scoped_lock lock(arena.mutex_);
  const Status noted = catching([&] { slot_->uses.push_back(*std::move(event)); });
  if (!noted.ok()) static_cast<void>((*event)->wait());
}

SlotArena::SlotArena(std::size_t slot_bytes, MemoryLedger& ledger, std::optional<SharedFile> memory,
                     std::shared_ptr<DeviceRoom> room, std::shared_ptr<device::Device> pinned_for) noexcept
    : slot_bytes_(slot_bytes),
      room_(std::move(room)),
      pinned_for_(std::move(pinned_for)),
      ledger_(ledger),
      memory_(std::move(memory)),
      maker_(getpid()) {}

Result<std::shared_ptr<SlotArena>> SlotArena::make(std::size_t slot_bytes, MemoryLedger& ledger) {
  if (slot_bytes <= kLargestInHeap) {
    const auto alignment = static_cast<std::size_t>(FreeInHeap::kAlignment);
    return std::shared_ptr<SlotArena>(new SlotArena(round_up(slot_bytes, alignment), ledger, std::nullopt));
  }
  fork_count();
  auto memory = SharedFile::make("drapps-batches");
  if (!memory.ok()) return delivering(std::move(memory).error());
  // Whole huge pages where a slot is large enough to profit, whole pages otherwise.
  const std::size_t unit = slot_bytes >= 4 * kHugePage ? kHugePage : kPageBytes;
  return std::shared_ptr<SlotArena>(new SlotArena(round_up(slot_bytes, unit), ledger, *std::move(memory)));
}

Result<std::shared_ptr<SlotArena>> SlotArena::make_on(std::shared_ptr<DeviceRoom> room, std::size_t slot_bytes) {
  MemoryLedger& ledger = room->ledger;
  return std::shared_ptr<SlotArena>(new SlotArena(slot_bytes, ledger, std::nullopt, std::move(room)));
}

std::shared_ptr<SlotArena> SlotArena::make_pinned(std::shared_ptr<device::Device> device, std::size_t slot_bytes,
                                                  MemoryLedger& ledger) {
  return std::shared_ptr<SlotArena>(new SlotArena(slot_bytes, ledger, std::nullopt, nullptr, std::move(device)));
}

SlotArena::~SlotArena() {
  if (getpid() == maker_) retire();
}

Result<Slot*> SlotArena::acquire() {
  {
    const std::scoped_lock lock(mutex_);
    if (!spare_.empty()) {
      Slot* slot = spare_.back();
      spare_.pop_back();
      started_filling();
      return slot;
    }
  }
  if (!ledger_.reserve(slot_bytes_)) {
    return Error{.code = ErrorCode::kResourceExhausted,
                 .stage = Stage::kDeliver,
                 .message = "a batch of " + std::to_string(slot_bytes_) + " bytes does not fit " +
                            (on_host() ? "the RAM budget" : "device_memory") + ", of which " +
                            std::to_string(ledger_.whole().used()) + " of " + std::to_string(ledger_.whole().limit()) +
                            " bytes are in use; " +
                            (on_host() ? "raise ram_budget or lower the batch size"
                                       : "let go of batches that you hold (zip() holds two), raise it, or lower the "
                                         "batch size")};
  }
  auto slot = catching([this] { return make_slot(); });
  if (!slot.ok()) ledger_.release(slot_bytes_);
  return slot;
}

Result<Slot*> SlotArena::make_slot() {
  auto slot = std::make_unique<Slot>();
  if (room_ != nullptr) {
    auto memory = room_->device->allocate(device::Where::kDevice, slot_bytes_);
    if (!memory.ok()) return std::move(memory).error();
    slot->elsewhere = *std::move(memory);
    slot->kind = room_->kind;
  } else if (pinned_for_ != nullptr) {
    auto memory = pinned_for_->allocate(device::Where::kPinned, slot_bytes_);
    if (!memory.ok()) return std::move(memory).error();
    slot->elsewhere = *std::move(memory);
  } else if (on_its_own()) {
    slot->heap.reset(static_cast<std::byte*>(::operator new(slot_bytes_, FreeInHeap::kAlignment)));
  }
  const std::scoped_lock lock(mutex_);
  spare_.reserve(most_filling_ + 1 + kExtra);
  if (memory_) {
    if (Status mapped = map(*slot, *memory_); !mapped.ok()) return delivering(std::move(mapped).error());
  }
  started_filling();
  return slot.release();
}

/// Requires the mutex.
Status SlotArena::map(Slot& slot, SharedFile& memory) {
  // Room for all that may come back, which must not fail.
  const std::size_t ranges = end_ / slot_bytes_ + 1;
  if (free_ranges_.capacity() < ranges) free_ranges_.reserve(2 * ranges);
  const bool reused = !free_ranges_.empty();
  slot.offset = reused ? free_ranges_.back() : end_;
  if (!reused) {
    if (Status grown = memory.grow(end_ + slot_bytes_); !grown.ok()) return grown;
  }
  auto mapping = memory.map(slot.offset, slot_bytes_);
  if (!mapping.ok()) return std::move(mapping).error();
  slot.mapping = *std::move(mapping);
  if (reused) {
    free_ranges_.pop_back();
  } else {
    end_ += slot_bytes_;
  }
  // Advice only: where the kernel has no huge pages for shared memory the slot works all the same.
  madvise(slot.data(), slot_bytes_, MADV_HUGEPAGE);
  madvise(slot.data(), slot_bytes_, MADV_DONTFORK);
  return ok_status();
}

void SlotArena::abandon(Slot* slot) noexcept { keep_or_destroy(slot, true, true, true); }

HeldSlot SlotArena::yield(Slot* slot) noexcept {
  if (!on_its_own()) {
    madvise(slot->data(), slot_bytes_, MADV_DOFORK);
    slot->fork_count = fork_count();
  }
  {
    const std::scoped_lock lock(mutex_);
    --filling_;
  }
  slot->holders.store(1, std::memory_order_relaxed);
  slot->arena = shared_from_this();
  if (on_host()) {
    ledger_.add_held(slot_bytes_);
    ledger_.release(slot_bytes_);
  }
  return HeldSlot(slot);
}

void SlotArena::release(Slot* slot) noexcept {
  // In a child the slot is its parent's: nothing here may touch the arena, whose lock may be taken for ever.
  if (getpid() != slot->arena->maker_) return;
  const std::shared_ptr<SlotArena> arena = std::move(slot->arena);
  const std::size_t bytes = arena->slot_bytes_;
  if (arena->on_host()) arena->ledger_.drop_held(bytes);
  const bool reusable = arena->on_its_own() || slot->fork_count == fork_count();
  if (reusable && !arena->on_its_own()) madvise(slot->data(), bytes, MADV_DONTFORK);
  const bool charged = !arena->on_host() || (reusable && arena->ledger_.try_reserve(bytes));
  arena->keep_or_destroy(slot, charged, reusable, false);
}

void SlotArena::keep_or_destroy(Slot* slot, bool charged, bool reusable, bool was_filling) noexcept {
  const std::scoped_lock lock(mutex_);
  if (was_filling) --filling_;
  const bool wanted = !retired_ && filling_ + spare_.size() < most_filling_ + kExtra;
  if (charged && reusable && wanted && spare_.size() < spare_.capacity()) {
    spare_.push_back(slot);
    return;
  }
  if (charged) ledger_.release(slot_bytes_);
  destroy(slot, reusable);
}

std::size_t SlotArena::trim() noexcept {
  const std::scoped_lock lock(mutex_);
  const std::size_t bytes = spare_.size() * slot_bytes_;
  for (Slot* slot : spare_) {
    ledger_.release(slot_bytes_);
    destroy(slot, true);
  }
  spare_.clear();
  return bytes;
}

void SlotArena::retire() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    retired_ = true;
  }
  trim();
}

std::size_t SlotArena::spare_bytes() const noexcept {
  const std::scoped_lock lock(mutex_);
  return spare_.size() * slot_bytes_;
}

std::size_t SlotArena::bytes() const noexcept {
  const std::scoped_lock lock(mutex_);
  return (filling_ + spare_.size()) * slot_bytes_;
}

void SlotArena::started_filling() noexcept { most_filling_ = std::max(most_filling_, ++filling_); }

/// Requires the mutex.
void SlotArena::destroy(Slot* slot, bool reuse_range) noexcept {
  const std::size_t offset = slot->offset;
  for (const auto& use : slot->uses) static_cast<void>(use->wait());
  if (slot->completion != nullptr) static_cast<void>(slot->completion->wait());
  delete slot;
  if (!memory_ || !reuse_range) return;
  // Gives the pages back to the system; the range of the file is mapped again later.
  memory_->punch(offset, slot_bytes_);
  free_ranges_.push_back(offset);
}

}  // namespace drapps
