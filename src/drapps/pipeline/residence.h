// Arrays that live on a device, and what makes batches of them there: what all passes of a loader share.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/deliver/slot_arena.h"
#include "drapps/device/device.h"
#include "drapps/device/kernel/augment.h"
#include "drapps/device/kernel/gather.h"
#include "drapps/modality/device_part.h"
#include "drapps/pipeline/plan.h"

namespace drapps {

/// Where a user wants arrays to live.
struct DeviceChoice {
  std::string device;        // see device/open.h
  std::size_t memory_bytes;  // the most that arrays and batches may take there
};

class Residence {
 public:
  /// Whether the plan's batches can be made on a device from what fits there: all arrays, and two batches. Uses no
  /// device. kUnsupported or kTooLarge says why not, and what to do.
  static Status check(const Plan& plan, const Source& source, std::size_t memory_bytes);

  /// Opens the device and copies all arrays there, as they are at this moment. Errors as check(), open_device() and
  /// device.h.
  /// @param plan  outlives it, as does the source.
  static Result<std::shared_ptr<Residence>> make(const DeviceChoice& choice, const Plan& plan, const Source& source);

  device::Device& device() const noexcept { return *room_->device; }
  const std::shared_ptr<DeviceRoom>& room() const noexcept { return room_; }

  /// A launch that fills one column of a batch with rows of an array.
  struct GatherColumn {
    std::size_t column;
    device::GatherArguments arguments;  // but for rows, count and out
  };
  std::span<const GatherColumn> gathers() const noexcept { return gathers_; }

  /// The launch that fills the column of pictures.
  struct PictureColumn {
    std::int64_t picture_bytes;          // from one picture to the next
    device::AugmentArguments arguments;  // but for the lists and out
    DevicePart part;
  };
  const std::optional<PictureColumn>& pictures() const noexcept { return pictures_; }

 private:
  explicit Residence(std::shared_ptr<DeviceRoom> room) noexcept : room_(std::move(room)) {}
  Status add_pictures(const Plan& plan, const Source& source, device::Stream& stream);
  Status add_array(const ColumnGatherer& column, device::Stream& stream);
  Result<device::Memory> allocate(std::size_t bytes);

  const std::shared_ptr<DeviceRoom> room_;
  std::vector<device::Memory> memory_;
  std::vector<GatherColumn> gathers_;
  std::optional<PictureColumn> pictures_;
};

}  // namespace drapps
