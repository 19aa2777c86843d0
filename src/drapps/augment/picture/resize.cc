#include "drapps/augment/picture/resize.h"

#include "drapps/augment/picture/checks.h"
#include "drapps/augment/picture/moves.h"

namespace drapps {
namespace {

Status check_target(Extent from, Extent to, Stage stage) {
  if (to.height >= 1 && to.width >= 1 && to.height <= kMaxSide && to.width <= kMaxSide) return ok_status();
  return op_error(Resize::kTag,
                  "a picture of " + to_string(from) + " would become " + to_string(to) +
                      "; leave it out, or resize to an exact size",
                  stage);
}

}  // namespace

Extent Resize::target(Extent whole) const noexcept {
  return height > 0 ? Extent{height, width} : geometry::resized_extent(whole, short_side, max_size);
}

Status Resize::check() const {
  if (interpolation == Interpolation::kRandom) {
    return op_error(kTag, "the interpolation cannot be random; give nearest, bilinear or bicubic");
  }
  DRAPPS_RETURN_IF_ERROR(check_arithmetic(kTag, interpolation, pass_order, arithmetic));
  const bool exact = height != 0 || width != 0;
  if (exact && (short_side != 0 || max_size != 0)) {
    return op_error(kTag, "both an exact size and a side are given; give one of them");
  }
  if (exact) return check_sides(kTag, height, width);
  if (short_side == 0) return check_sides(kTag, max_size, max_size);
  DRAPPS_RETURN_IF_ERROR(check_sides(kTag, short_side, short_side));
  if (max_size == 0) return ok_status();
  if (max_size <= short_side) {
    return op_error(kTag, "max_size is " + std::to_string(max_size) + ", which must be above the short side's " +
                              std::to_string(short_side));
  }
  return check_sides(kTag, max_size, max_size);
}

Result<PictureSpec> Resize::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  PictureSpec out = in;
  out.fixed = in.fixed || height > 0;
  out.extent = out.fixed ? target(in.extent) : Extent{max_size, max_size};
  if (out.fixed) DRAPPS_RETURN_IF_ERROR(check_target(in.extent, out.extent, Stage::kSetup));
  return out;
}

Status Resize::run(Picture& picture, OpContext& ctx) const {
  const Extent to = target(picture.extent);
  DRAPPS_RETURN_IF_ERROR(check_target(picture.extent, to, Stage::kAugment));
  return moves::resize(picture, ctx, geometry::whole_rect(picture.extent), to,
                       {interpolation, pass_order, arithmetic, mask_nearest});
}

}  // namespace drapps
