#include "drapps/augment/picture/random_resized_crop.h"

#include "drapps/augment/picture/checks.h"
#include "drapps/augment/picture/moves.h"

namespace drapps {

Status RandomResizedCrop::check() const {
  DRAPPS_RETURN_IF_ERROR(check_sides(kTag, height, width));
  DRAPPS_RETURN_IF_ERROR(check_arithmetic(kTag, interpolation, pass_order, arithmetic));
  DRAPPS_RETURN_IF_ERROR(check_range(kTag, "scale", scale, 0));
  return check_range(kTag, "ratio", ratio, 1e-6);
}

Result<PictureSpec> RandomResizedCrop::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  PictureSpec out = in;
  out.extent = {height, width};
  out.fixed = true;
  return out;
}

Status RandomResizedCrop::run(Picture& picture, OpContext& ctx) const {
  const Rect rect = geometry::random_resized_rect(picture.extent, scale, ratio, ctx.draws);
  Interpolation chosen = interpolation;
  if (chosen == Interpolation::kRandom) {
    chosen = ctx.draws.coin(0.5) ? Interpolation::kBilinear : Interpolation::kBicubic;
  }
  return moves::resize(picture, ctx, rect, {height, width}, {chosen, pass_order, arithmetic, mask_nearest});
}

Rect RandomResizedCrop::region(Extent whole, Draws draws) const {
  return geometry::random_resized_rect(whole, scale, ratio, draws);
}

}  // namespace drapps
