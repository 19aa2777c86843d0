// What one launch of the augment kernel does with each of its pictures: trails of ops, as the kernel reads them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/augment/picture/ops.h"
#include "drapps/augment/picture/trail.h"
#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/device/kernel/augment.h"

namespace drapps::device {

/// Whether the kernel makes of pictures what these ops make of them. kUnsupported names the op that it cannot do: one
/// that changes pixels, a second resize, or a resize by floats.
Status check_on_device(std::span<const Op> ops);

/// Filled picture by picture, then copied to the device; reused from launch to launch. For one thread at a time.
class AugmentList {
 public:
  explicit AugmentList(MemoryLedger& ledger) noexcept : planner_(ledger) {}

  /// Forgets all pictures.
  void clear() noexcept;
  /// The next picture.
  /// @param picture  bytes from AugmentArguments::pictures to its first pixel.
  /// @param trail    of ops that check_on_device() takes.
  /// kUnsupported for a trail of others; kResourceExhausted where the ledger has no more.
  Status add(std::int64_t picture, const Trail& trail);

  std::size_t pictures() const noexcept { return work_.size(); }
  /// Of the copy that put() makes.
  std::size_t bytes() const noexcept;
  /// Copies the list to `memory`, and points `arguments` to where it will lie on the device.
  /// @param memory  bytes() long; this and `there` are aligned to 8.
  void put(std::byte* memory, const std::byte* there, AugmentArguments& arguments) const noexcept;

 private:
  /// A dimension of a resize that was planned.
  struct Planned {
    bool known = false;
    TrailMove move;
    ResizeAxis axis;
  };

  void add_move(PictureMove move, Extent after);
  Status add_resize(const TrailMove& move);
  Result<ResizeAxis> plan(const TrailMove& move, std::size_t axis);

  std::vector<PictureWork> work_;
  std::vector<PictureMove> moves_;
  std::vector<std::int32_t> plans_;
  std::size_t segment_ = 0;  // the first move that the next one may be joined to
  Planned planned_[2];       // the latest of each dimension: pictures of one size are mostly resized alike
  kernel::PackedAxis planner_;
};

}  // namespace drapps::device
