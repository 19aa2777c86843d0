// Batch memory: equal slots, lent to the user batch by batch.
//
//   auto arena = SlotArena::make(layout.bytes(), ledger);
//   auto slot = (*arena)->acquire();
//   HeldSlot batch = (*arena)->yield(*slot);  // once it is filled; or abandon(*slot)
//
// A slot is in one of three states:
//   filling  the loader's; its bytes count against the RAM budget;
//   held     a yielded batch: the user's alone, writable, counted apart by the ledger, until its last
//            reference dies; then it becomes
//   spare    kept for the next batch while the budget has room for it, and released otherwise. So many are kept that
//            the most that were ever filling at a time are there again, and two more.
//
// Small slots lie in the process's heap, so that keeping a million of them costs their bytes: a process has some 65,000
// mappings (vm.max_map_count). Large ones have a mapping each, of a range of one memfd.
//
// Slots of the host may be pinned memory of a device, from which its copies hold nobody up; no child reads those.
//
// The slots of an arena may lie on a device instead, one allocation each, whose bytes count against what batches may
// take there, held or not. The host does not touch them, and a batch may be yielded before the device has made it:
// whoever uses it waits for that, on the host or by a stream of its own; and whoever fills the slot again waits, on the
// device, for the streams that used it.
//
// A child reads any batch that its parent holds. It has a copy of the heap; of the memfd it has what was yielded when
// it was forked: a large slot is MADV_DONTFORK until then and MADV_DOFORK from then on, and one that was held across a
// fork is never reused, because the child may still read it. A release in a process that did not make the arena does
// nothing. Releasing takes no lock that Python knows of, and is safe after everything else is gone.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <utility>
#include <vector>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/device/device.h"
#include "drapps/shm/file.h"

namespace drapps {

class RoomMemory;  // device_room.h
class SlotArena;

/// What a slot's memory is, as those have to know who take it.
struct MemoryKind {
  enum class Place : std::uint8_t { kHost, kPinnedHost, kDevice };
  Place place = Place::kHost;
  std::int32_t device = 0;  // of several of a kind
  bool operator==(const MemoryKind&) const = default;
};

/// A device, and how much of its memory may be taken.
struct DeviceRoom {
  DeviceRoom(std::shared_ptr<device::Device> of, MemoryKind what, std::size_t bytes)
      : device(std::move(of)), kind(what), ledger(bytes) {}

  const std::shared_ptr<device::Device> device;
  const MemoryKind kind;  // of batches there
  MemoryLedger ledger;
};

/// Memory in the heap, aligned as columns are.
struct FreeInHeap {
  static constexpr std::align_val_t kAlignment{64};
  void operator()(std::byte* data) const noexcept { ::operator delete(data, kAlignment); }
};
using HeapMemory = std::unique_ptr<std::byte, FreeInHeap>;

/// Memory of one batch. Made and destroyed by the arena only.
struct Slot {
  std::byte* data() const noexcept {
    return heap != nullptr ? heap.get() : elsewhere.data() != nullptr ? elsewhere.data() : mapping.data();
  }

  HeapMemory heap;                                   // of a small one
  Mapping mapping;                                   // of a large one
  device::Memory elsewhere;                          // of one on a device, or pinned
  std::unique_ptr<RoomMemory> rows_there;            // of a pinned one: on the device, for rows that are made there
  std::unique_ptr<device::Event> completion;         // behind all that fills it there
  std::vector<std::unique_ptr<device::Event>> uses;  // behind each use of it; the arena's mutex guards it while held
  std::size_t offset = 0;                            // of a large one's range in the arena's memfd
  MemoryKind kind{};
  std::atomic<std::uint32_t> holders{0};
  std::uint64_t fork_count = 0;      // forks of this process when a large one was yielded
  std::shared_ptr<SlotArena> arena;  // set while held: a held batch outlives its loader
};

/// Shares one held slot. Copies may live on any thread; the last one returns the slot.
class HeldSlot {
 public:
  HeldSlot() = default;
  explicit HeldSlot(Slot* slot) noexcept : slot_(slot) {}
  HeldSlot(const HeldSlot& other) noexcept : slot_(other.slot_) {
    if (slot_ != nullptr) slot_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  HeldSlot(HeldSlot&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}
  HeldSlot& operator=(HeldSlot other) noexcept {
    std::swap(slot_, other.slot_);
    return *this;
  }
  ~HeldSlot();

  std::byte* data() const noexcept { return slot_->data(); }
  MemoryKind kind() const noexcept { return slot_->kind; }

  /// Whether a device has made what the slot holds, or is about to make it.
  bool of_device() const noexcept { return slot_->completion != nullptr; }
  /// Waits on the host until the device has made what the slot holds. Errors are the device's.
  Status wait_made() const;
  /// A user's stream, by its handle (Device::foreign_stream). Where `waits`, its work from now on begins when the
  /// device has made what the slot holds.
  Result<std::unique_ptr<device::Stream>> hand_over(std::uintptr_t stream, bool waits = true) const;
  /// What was asked of the stream until now is the last use that it makes of the slot.
  void end_use(device::Stream& stream) const noexcept;
  explicit operator bool() const noexcept { return slot_ != nullptr; }

 private:
  Slot* slot_ = nullptr;
};

class SlotArena : public std::enable_shared_from_this<SlotArena> {
 public:
  static constexpr std::size_t kLargestInHeap = std::size_t{1} << 20;

  /// @param slot_bytes capacity of each slot.
  /// @param ledger     outlives the arena and every batch.
  static Result<std::shared_ptr<SlotArena>> make(std::size_t slot_bytes, MemoryLedger& ledger);
  /// Makes an arena of slots of the host that are pinned for a device.
  static std::shared_ptr<SlotArena> make_pinned(std::shared_ptr<device::Device> device, std::size_t slot_bytes,
                                                MemoryLedger& ledger);
  /// Makes an arena of slots on a device.
  static Result<std::shared_ptr<SlotArena>> make_on(std::shared_ptr<DeviceRoom> room, std::size_t slot_bytes);
  ~SlotArena();
  SlotArena(const SlotArena&) = delete;
  SlotArena& operator=(const SlotArena&) = delete;

  /// Whether the host may read and write its slots.
  bool on_host() const noexcept { return room_ == nullptr; }
  /// The device whose pinned memory its slots are, or null.
  const device::Device* pinned_for() const noexcept { return pinned_for_.get(); }

  /// A slot to fill: a spare one or a new one. kResourceExhausted where the budget or the system has no more.
  Result<Slot*> acquire();
  /// Releases a slot that was not yielded.
  void abandon(Slot* slot) noexcept;
  /// Turns a filled slot into the user's.
  HeldSlot yield(Slot* slot) noexcept;
  /// Releases the spare slots and gives their bytes back to the ledger; how many bytes.
  std::size_t trim() noexcept;
  /// Trims, and keeps no slot in spare from now on: nobody will acquire one any more.
  void retire() noexcept;
  /// Bytes that trim() would release.
  std::size_t spare_bytes() const noexcept;
  /// Bytes of the budget that it has: of the spare slots, and of those that are filling.
  std::size_t bytes() const noexcept;

 private:
  friend class HeldSlot;

  SlotArena(std::size_t slot_bytes, MemoryLedger& ledger, std::optional<SharedFile> memory,
            std::shared_ptr<DeviceRoom> room = nullptr, std::shared_ptr<device::Device> pinned_for = nullptr) noexcept;
  bool on_its_own() const noexcept { return !memory_.has_value(); }
  Result<Slot*> make_slot();
  Status map(Slot& slot, SharedFile& memory);
  void started_filling() noexcept;
  void destroy(Slot* slot, bool reuse_range) noexcept;
  static void release(Slot* slot) noexcept;
  void keep_or_destroy(Slot* slot, bool charged, bool reusable, bool was_filling) noexcept;

  const std::size_t slot_bytes_;
  const std::shared_ptr<DeviceRoom> room_;            // of slots on a device
  const std::shared_ptr<device::Device> pinned_for_;  // of pinned slots
  MemoryLedger& ledger_;
  std::optional<SharedFile> memory_;  // of large slots
  const pid_t maker_;

  mutable std::mutex mutex_;  // guards all below
  std::vector<Slot*> spare_;  // never grows when one comes back, which must not fail
  std::size_t filling_ = 0;
  std::size_t most_filling_ = 0;  // ever
  bool retired_ = false;
  std::vector<std::size_t> free_ranges_;  // offsets in the memfd with no mapping
  std::size_t end_ = 0;                   // bytes of the memfd in use
};

}  // namespace drapps
