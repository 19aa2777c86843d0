// Resizing pictures, byte for byte as Pillow's Image.resize does it, or as PyTorch's interpolate() does it on tensors
// of bytes.
//
//   Resizer resizer(ledger);
//   DRAPPS_RETURN_IF_ERROR(resizer.resize(out, in, Filter::kBilinear, PassOrder::kHorizontalFirst));
//
// Both run two one-dimensional passes with integer weights and uint8 in between, and skip a pass whose dimension does
// not change. They differ in the weights (resize_plan.h) and in which pass may run first. A third way has floats
// throughout (resize_float.h). Every SIMD level gives the same bytes.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "drapps/base/memory_ledger.h"
#include "drapps/base/result.h"
#include "drapps/data/image.h"
#include "drapps/data/picture.h"
#include "drapps/kernel/level.h"
#include "drapps/kernel/resize_float.h"
#include "drapps/kernel/resize_plan.h"

namespace drapps::kernel {

/// Which pass of Pillow's runs first. The bytes differ: each pass rounds. PyTorch's is always the horizontal one.
enum class PassOrder : std::uint8_t {
  kHorizontalFirst,  // Pillow up to 12
  kPillow13,         // vertical first where out_h < h and 2 * (w - out_w) < h - out_h, else horizontal
};

/// Whether the vertical pass of a picture that is resized in both dimensions runs first.
constexpr bool runs_vertical_first(PassOrder order, Extent in, Extent out) noexcept {
  return order == PassOrder::kPillow13 && out.height < in.height &&
         2 * (std::int64_t{in.width} - out.width) < std::int64_t{in.height} - out.height;
}

/// A part of a picture whose edges need not lie between pixels, as Pillow's resize() takes it as `box`. Of the picture
/// only the pixels of `read` are there.
class ResizeBox {
 public:
  /// The box has an area, and lies within the picture; out is what it is resized to.
  ResizeBox(Extent whole, std::array<float, 4> left_top_right_bottom, Extent out, Filter filter) noexcept;

  /// The pixels that the resize reads.
  Rect read() const noexcept { return {down_.first, across_.first, down_.pixels, across_.pixels}; }
  const Span& across() const noexcept { return across_; }
  const Span& down() const noexcept { return down_; }

 private:
  Span across_, down_;
};

/// Resizes pictures one after another, keeping its plans and its memory. For one thread at a time.
class Resizer {
 public:
  explicit Resizer(MemoryLedger& ledger, Level level = active_level()) noexcept
      : horizontal_(ledger), vertical_(ledger), between_(ledger), floats_(ledger, level), level_(level) {}

  /// Fills `out` (its size is the target) from all of `in`; they do not overlap, have as many
  /// channels, and are not empty. Writes nothing outside out's pixels. Allocates only for sizes larger
  /// than any before. kInvalidArgument for an empty picture; kResourceExhausted where the ledger has
  /// no more.
  Status resize(ImageView out, ConstImageView in, Filter filter, PassOrder order,
                Arithmetic arithmetic = Arithmetic::kPillow);

  /// Fills `out` as resize() from all of a picture does, but from a box of one, by Pillow's arithmetic: `in` has the
  /// pixels of box.read(), and out has the size that the box was made for, as is the filter.
  Status resize(ImageView out, ConstImageView in, Filter filter, PassOrder order, const ResizeBox& box);

  /// Frees all memory.
  void reset() noexcept;

 private:
  Status run(ImageView out, ConstImageView in, Filter filter, Arithmetic arithmetic, PassOrder order, const Span& wide,
             const Span& high);

  PackedAxis horizontal_;
  PackedAxis vertical_;
  Buffer between_;
  FloatResizer floats_;
  Level level_;
};

/// Which pixel is the nearest.
enum class Nearest : std::uint8_t {
  kPillow,  // the one that the middle of the new pixel lies in, as Pillow's NEAREST
  kTorch,   // the one that its upper left corner lies in, as PyTorch's interpolate(mode="nearest")
};

/// Nearest neighbour: for masks, whose values must not mix. The views do not overlap, have as many channels, and are
/// not empty.
void resize_nearest(ImageView out, ConstImageView in, Nearest nearest = Nearest::kPillow) noexcept;
/// Along one dimension of `in` pixels: the pixel that each of pixels.size() takes, or -1 where it takes none and is 0.
void nearest_pixels(std::span<std::int32_t> pixels, std::int32_t in, Nearest nearest = Nearest::kPillow) noexcept;

}  // namespace drapps::kernel
