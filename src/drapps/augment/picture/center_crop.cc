#include "drapps/augment/picture/center_crop.h"

#include "drapps/augment/picture/checks.h"
#include "drapps/augment/picture/moves.h"

namespace drapps {

Status CenterCrop::check() const {
  DRAPPS_RETURN_IF_ERROR(check_sides(kTag, height, width));
  return check_border(kTag, {}, fill, mask_fill);
}

Status CenterCrop::check_fits(Extent whole, Stage stage) const {
  if (pad || (whole.height >= height && whole.width >= width)) return ok_status();
  return op_error(kTag,
                  "a crop of " + to_string({height, width}) + " does not fit a picture of " + to_string(whole) +
                      "; pad it or resize first",
                  stage);
}

Result<PictureSpec> CenterCrop::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  DRAPPS_RETURN_IF_ERROR(check_per_channel(kTag, "fill", fill.size(), in.channels));
  if (in.fixed) DRAPPS_RETURN_IF_ERROR(check_fits(in.extent, Stage::kSetup));
  PictureSpec out = in;
  out.extent = {height, width};
  out.fixed = true;
  return out;
}

Status CenterCrop::run(Picture& picture, OpContext& ctx) const {
  DRAPPS_RETURN_IF_ERROR(check_fits(picture.extent, Stage::kAugment));
  return moves::crop_with_border(picture, ctx, geometry::central_rect(picture.extent, {height, width}, rounding),
                                 {mode, fill, mask_fill});
}

Rect CenterCrop::region(Extent whole, Draws) const {
  return moves::border_region(whole, geometry::central_rect(whole, {height, width}, rounding), mode);
}

}  // namespace drapps
