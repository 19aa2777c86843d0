// What the augment kernels do with each picture of a launch: trails of ops, as the kernels read them.
//
//   list.clear(); list.add(at * picture_bytes, at * row_bytes, trail, dtype);  // add() for each picture
//   list.put(pinned, there, arguments);
//   stream.copy_in(there, pinned, list.bytes());
//   list.launch(stream, arguments);
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/augment/picture/ops.h"
#include "drapps/augment/picture/trail.h"
#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/batch/row.h"
#include "drapps/data/dtype.h"
#include "drapps/device/device.h"
#include "drapps/device/kernel/augment.h"

namespace drapps::device {

/// Whether the kernels make of pictures what these ops make of them. kUnsupported names the op that they cannot do: a
/// resize by floats.
Status check_on_device(std::span<const Op> ops);
/// Whether the kernels may keep pictures between their launches for these ops: what a second resize reads, or a resize
/// of changed colours.
bool keeps_pictures(std::span<const Op> ops);
/// The most bytes of the device's memory that the kernels keep of a picture of this trail.
std::size_t kept_bytes(const Trail& trail) noexcept;

/// What rows of a dtype hold.
constexpr Number number_of(Dtype dtype) noexcept {
  if (dtype == Dtype::kFloat32) return Number::kFloat32;
  if (dtype == Dtype::kBfloat16) return Number::kBfloat16;
  return dtype == Dtype::kFloat16 ? Number::kFloat16 : Number::kWhole;
}

/// The arguments for rows that a writer describes: all but the pictures, the lists, the table and `out`.
AugmentArguments arguments_of(const PictureWriter& writer) noexcept;

/// Filled picture by picture, then copied to the device; reused from launch to launch. For one thread at a time.
class AugmentList {
 public:
  explicit AugmentList(MemoryLedger& ledger) noexcept : planner_(ledger) {}

  /// Forgets all pictures.
  void clear() noexcept;
  /// The next picture.
  /// @param picture  bytes from AugmentArguments::pictures to its first pixel.
  /// @param row      bytes from AugmentArguments::out to the row that it becomes.
  /// @param trail    of ops that check_on_device() takes.
  /// @param dtype    of the row.
  /// kUnsupported for a trail of others; kResourceExhausted where the ledger has no more.
  Status add(std::int64_t picture, std::int64_t row, const Trail& trail, Dtype dtype);
  /// The next picture, of which a window alone is there: planes of bytes, one after another, without gaps.
  /// @param window    lies within the picture that the trail begins with, and has all that is read of it.
  /// @param channels  as many as AugmentArguments::picture_channels.
  /// @return          bytes from AugmentArguments::kept, as put() points it, to where the window's pixels are to be
  ///                  when the kernels run; window_bytes() of them. Errors as of add().
  Result<std::int64_t> add_window(const Rect& window, std::int32_t channels, std::int64_t row, const Trail& trail,
                                  Dtype dtype);
  /// Bytes of the device's memory that add_window() takes.
  static std::size_t window_bytes(const Rect& window, std::int32_t channels) noexcept;

  std::size_t pictures() const noexcept { return last_.work.size(); }
  /// Bytes of the copy that put() makes.
  std::size_t bytes() const noexcept;
  /// Bytes of the device's memory that launch() needs: those of the copy, and of what kernels leave for those behind
  /// them, means and pictures.
  std::size_t device_bytes() const noexcept;
  /// Copies the list to `memory`, and points `arguments` to where it will lie on the device.
  /// @param memory  bytes() long; this and `there`, device_bytes() long, are aligned to 8.
  void put(std::byte* memory, std::byte* there, AugmentArguments& arguments) const noexcept;
  /// Asks for all that makes the rows, once the copy was asked for.
  /// @param arguments  as put() has left them.
  Status launch(Stream& stream, const AugmentArguments& arguments) const;

 private:
  /// A dimension of a resize that was planned.
  struct Planned {
    bool known = false;
    TrailStep step;
    ResizeAxis axis;
  };

  /// What one kernel does with some pictures, and the means of contrasts before it.
  struct AugmentLaunch {
    std::vector<PictureWork> work;
    std::int32_t contrasts = 0;  // of the picture that has most
    Extent contrasted;           // that no picture exceeds whose contrast is changed
    Extent kept;                 // that no picture exceeds which is kept

    void clear() noexcept;
    std::size_t tiles() const noexcept;
    /// Bytes of the means, behind which the sums lie; and bytes of both.
    std::size_t mean_bytes() const noexcept;
    std::size_t bytes_of_means() const noexcept;
  };

  Status add_work(const PictureWork& begin, std::int64_t row, const Trail& trail, Dtype dtype);
  void begin_work(const PictureWork& work);
  void end_work(bool resized, AugmentLaunch& launch);
  void keep(Extent extent, std::size_t round, bool resized);
  Status launch_means(Stream& stream, const AugmentArguments& arguments, const AugmentLaunch& launch) const;
  Status add_step(const TrailStep& step, bool& resized);
  void add_move(PictureMove move, Extent after);
  Status add_resize(const TrailStep& step);
  void add_color(const TrailStep& step, bool resized);
  void add_erasure(const Erasure& erasure, Dtype dtype);
  Result<ResizeAxis> plan(const TrailStep& step, std::size_t axis);
  std::size_t means_at() const noexcept;
  std::size_t kept_at() const noexcept;

  std::vector<AugmentLaunch> kept_;  // the first is of pictures that are resized once more, and so on
  AugmentLaunch last_;               // of all pictures
  std::size_t kept_bytes_ = 0;
  std::vector<PictureErasure> erasures_;
  std::vector<PictureMove> moves_;
  std::vector<PictureColor> colors_;
  std::vector<std::int32_t> plans_;
  PictureWork current_;         // of the picture that is added
  std::int32_t contrasts_ = 0;  // of the same picture
  Extent contrasted_;           // of the same picture
  std::size_t segment_ = 0;     // the first move that the next one may be joined to
  Planned planned_[2];          // the latest of each dimension: pictures of one size are mostly resized alike
  kernel::PackedAxis planner_;
};

}  // namespace drapps::device
