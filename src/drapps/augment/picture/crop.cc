#include "drapps/augment/picture/crop.h"

#include "drapps/augment/picture/checks.h"
#include "drapps/augment/picture/moves.h"

namespace drapps {

Status Crop::check() const {
  DRAPPS_RETURN_IF_ERROR(check_sides(kTag, height, width));
  if (top < 0 || left < 0 || top > kMaxSide || left > kMaxSide) {
    return op_error(kTag, "a corner at " + to_string({top, left}) + " must lie from 0 to " + std::to_string(kMaxSide));
  }
  return ok_status();
}

Status Crop::check_fits(Extent whole, Stage stage) const {
  if (geometry::contains(geometry::whole_rect(whole), rect())) return ok_status();
  return op_error(kTag,
                  to_string({height, width}) + " pixels from row " + std::to_string(top) + " and column " +
                      std::to_string(left) + " on do not lie in a picture of " + to_string(whole) +
                      "; resize or pad first, or crop less",
                  stage);
}

Result<PictureSpec> Crop::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  if (in.fixed) DRAPPS_RETURN_IF_ERROR(check_fits(in.extent, Stage::kSetup));
  PictureSpec out = in;
  out.extent = {height, width};
  out.fixed = true;
  return out;
}

Status Crop::run(Picture& picture, OpContext& ctx) const {
  DRAPPS_RETURN_IF_ERROR(check_fits(picture.extent, Stage::kAugment));
  moves::crop(picture, ctx, rect());
  return ok_status();
}

Rect Crop::region(Extent whole, Draws) const {
  const Rect all = geometry::whole_rect(whole);
  return geometry::contains(all, rect()) ? rect() : all;
}

}  // namespace drapps
