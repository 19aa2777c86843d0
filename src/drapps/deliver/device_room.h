// A device by its name, with an account of what is taken of its memory, and memory of it that grows.
//
//   auto room = open_room("cuda:0", bytes);
//   RoomMemory memory(*room, device::Where::kDevice);
//   DRAPPS_RETURN_IF_ERROR(memory.grow(list.bytes()));
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "drapps/base/result.h"
#include "drapps/deliver/slot_arena.h"
#include "drapps/device/device.h"

namespace drapps {

/// Opens a device, of whose memory so many bytes may be taken. Errors as device/open.h.
Result<std::shared_ptr<DeviceRoom>> open_room(const std::string& device, std::size_t bytes);

/// Memory that one user fills again and again. That of the device is in the room's account.
class RoomMemory {
 public:
  RoomMemory(std::shared_ptr<DeviceRoom> room, device::Where where) noexcept : room_(std::move(room)), where_(where) {}
  RoomMemory(const RoomMemory&) = delete;
  RoomMemory& operator=(const RoomMemory&) = delete;
  ~RoomMemory() { reset(); }

  std::byte* data() const noexcept { return memory_.data(); }
  /// At least so many bytes from now on; where there were fewer, what was in them is lost. kResourceExhausted where the
  /// account or the device has no more. No work that uses the memory may be under way.
  Status grow(std::size_t bytes) { return memory_.bytes() >= bytes ? ok_status() : take(bytes + bytes / 4); }
  /// Just so many bytes in the place of those before; else as grow().
  Status take(std::size_t bytes);

 private:
  void reset() noexcept;

  const std::shared_ptr<DeviceRoom> room_;
  const device::Where where_;
  std::size_t counted_ = 0;
  device::Memory memory_;
};

/// Memory on the device for rows of a slot's batches that are made there: so many bytes, the same for all batches of
/// the slot, which keeps them. Errors as RoomMemory::take().
Result<std::byte*> rows_there(Slot& slot, const std::shared_ptr<DeviceRoom>& room, std::size_t bytes);

}  // namespace drapps
