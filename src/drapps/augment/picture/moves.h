// How a picture, its mask and its boxes move: one function for each kind of move, shared by the ops, so that
// the three cannot come apart.
//
// All of them leave the picture with its window as large as its extent. Rectangles are in pixels of the whole picture.
// Boxes are clipped to the result and dropped, with their box_rows, where nothing is left of them; their
// arithmetic is float32. Where the context has a trail, they note themselves there and change no more than the extent.
#pragma once

#include <cstdint>
#include <span>

#include "drapps/augment/picture/op.h"

namespace drapps::moves {

/// Keeps `rect`, which the window contains. Copies no pixel.
void crop(Picture& picture, OpContext& ctx, const Rect& rect);

/// How pixels are resized; the interpolation is not kRandom.
struct Resampling {
  Interpolation interpolation;
  kernel::PassOrder order;
  kernel::Arithmetic arithmetic;
  kernel::Nearest mask_nearest{};
};

/// Resizes `rect`, which the window contains, to `target`; the mask by the nearest neighbour.
Status resize(Picture& picture, OpContext& ctx, const Rect& rect, Extent target, const Resampling& how);

/// What stands around a picture and around its mask.
struct BorderFill {
  PadMode mode = PadMode::kConstant;
  std::span<const std::int32_t> fill;  // one level, or one per channel
  std::int32_t mask_fill = 0;
};

/// Keeps `rect`, which may leave the picture: `border` stands there. The window contains border_region() of it.
Status crop_with_border(Picture& picture, OpContext& ctx, const Rect& rect, const BorderFill& border);
/// What crop_with_border reads of a picture; never empty.
Rect border_region(Extent whole, const Rect& rect, PadMode mode) noexcept;

Status flip_horizontal(Picture& picture, OpContext& ctx);
Status flip_vertical(Picture& picture, OpContext& ctx);

}  // namespace drapps::moves
