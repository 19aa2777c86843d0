// Slots on a device: whether there is memory for them, and filling one again.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/deliver/slot_arena.h"
#include "drapps/device/device.h"

namespace drapps {

/// Takes the memory of two batches, of which later there may be none. What the room's account lacks, batches have that
/// are held, and is no error.
inline Status reserve_slots(SlotArena& arena, const DeviceRoom& room, std::size_t slot_bytes) {
  std::array<Slot*, 2> slots{};
  Status reserved = ok_status();
  for (Slot*& slot : slots) {
    auto acquired = arena.acquire();
    if (acquired.ok()) slot = *acquired;
    const MemoryLedger& all = room.ledger.whole();
    if (!acquired.ok() && all.used() + slot_bytes <= all.limit()) reserved = std::move(acquired).error();
  }
  for (Slot* const slot : slots) {
    if (slot != nullptr) arena.abandon(slot);
  }
  return reserved;
}

/// Makes an event where there is none yet.
inline Status ensure_event(device::Device& device, std::unique_ptr<device::Event>& event) {
  if (event != nullptr) return ok_status();
  auto creation = device.event();
  if (!creation.ok()) return std::move(creation).error();
  event = *std::move(creation);
  return ok_status();
}

/// What is asked of the stream from now on begins when all uses of the slot have ended.
inline Status begin_fill(device::Device& device, device::Stream& stream, Slot& slot) {
  DRAPPS_RETURN_IF_ERROR(ensure_event(device, slot.completion));
  DRAPPS_RETURN_IF_ERROR(stream.wait(*slot.completion));  // where nobody has waited for the batch before
  for (const auto& use : slot.uses) DRAPPS_RETURN_IF_ERROR(stream.wait(*use));
  slot.uses.clear();
  return ok_status();
}

}  // namespace drapps
