// What all passes of a loader share whose batches a device finishes: the plan of the batches that are carried there,
// and what each byte of a picture becomes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "drapps/base/result.h"
#include "drapps/deliver/slot_arena.h"
#include "drapps/device/device.h"
#include "drapps/device/kernel/augment.h"
#include "drapps/pipeline/plan.h"

namespace drapps {

class BatchUpload {
 public:
  /// Opens the device. kUnsupported where nothing of the plan's batches is finished there; else as open_room() and
  /// device.h.
  /// @param plan  outlives it, as does the source.
  static Result<std::shared_ptr<BatchUpload>> make(const std::string& device, const Plan& plan, const Source& source);

  device::Device& device() const noexcept { return *room_->device; }
  const std::shared_ptr<DeviceRoom>& room() const noexcept { return room_; }
  /// The plan that the batches on the host are made by.
  const std::shared_ptr<const Plan>& plan() const noexcept { return carrying_.plan; }
  const CarriedPart& part() const noexcept { return carrying_.part; }

  /// The launch that finishes pictures, but for these, the lists and out.
  const device::AugmentArguments& arguments() const noexcept { return arguments_; }

 private:
  BatchUpload(std::shared_ptr<DeviceRoom> room, CarryingPlan carrying) noexcept;
  Status copy_table();

  const std::shared_ptr<DeviceRoom> room_;
  const CarryingPlan carrying_;
  device::Memory table_;
  device::AugmentArguments arguments_;
};

}  // namespace drapps
