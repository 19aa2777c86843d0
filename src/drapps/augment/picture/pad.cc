#include "drapps/augment/picture/pad.h"

#include "drapps/augment/picture/checks.h"
#include "drapps/augment/picture/moves.h"

namespace drapps {

Status Pad::check() const { return check_border(kTag, std::array{left, top, right, bottom}, fill, mask_fill); }

Result<PictureSpec> Pad::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  DRAPPS_RETURN_IF_ERROR(check_per_channel(kTag, "fill", fill.size(), in.channels));
  PictureSpec out = in;
  if (in.extent.height > 0) out.extent.height += top + bottom;
  if (in.extent.width > 0) out.extent.width += left + right;
  return out;
}

Status Pad::run(Picture& picture, OpContext& ctx) const {
  const Rect rect{-top, -left, picture.extent.height + top + bottom, picture.extent.width + left + right};
  return moves::crop_with_border(picture, ctx, rect, {mode, fill, mask_fill});
}

}  // namespace drapps
