#include "drapps/deliver/device_room.h"

#include <string>
#include <utility>

#include "drapps/device/open.h"

namespace drapps {

using device::Where;

Result<std::shared_ptr<DeviceRoom>> open_room(const std::string& device, std::size_t bytes) {
  auto opened = device::open_device(device);
  if (!opened.ok()) return std::move(opened).error();
  const std::size_t colon = device.find(':');  // "cuda:1"
  const MemoryKind kind{.place = (*opened)->host_reads() ? MemoryKind::Place::kHost : MemoryKind::Place::kDevice,
                        .device = colon == std::string::npos ? 0 : std::stoi(device.substr(colon + 1))};
  return std::make_shared<DeviceRoom>(*std::move(opened), kind, bytes);
}

Status RoomMemory::take(std::size_t bytes) {
  reset();
  if (where_ == Where::kDevice) {
    if (!room_->ledger.try_reserve(bytes)) {
      return Error{.code = ErrorCode::kResourceExhausted,
                   .stage = Stage::kDeliver,
                   .message = "what a batch is made of takes " + std::to_string(bytes) +
                              " bytes of the device's memory, of which " + std::to_string(room_->ledger.used()) +
                              " of " + std::to_string(room_->ledger.limit()) +
                              " are in use; raise device_memory or lower the batch size"};
    }
    counted_ = bytes;
  }
  auto allocation = room_->device->allocate(where_, bytes);
  if (!allocation.ok()) {
    reset();
    return std::move(allocation).error();
  }
  memory_ = *std::move(allocation);
  return ok_status();
}

Result<std::byte*> rows_there(Slot& slot, const std::shared_ptr<DeviceRoom>& room, std::size_t bytes) {
  if (slot.rows_there == nullptr) {
    auto memory = std::make_unique<RoomMemory>(room, Where::kDevice);
    DRAPPS_RETURN_IF_ERROR(memory->take(bytes));
    slot.rows_there = std::move(memory);
  }
  return slot.rows_there->data();
}

void RoomMemory::reset() noexcept {
  memory_.reset();
  room_->ledger.release(std::exchange(counted_, 0));
}

}  // namespace drapps
