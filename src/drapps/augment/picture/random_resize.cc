#include "drapps/augment/picture/random_resize.h"

#include "drapps/augment/picture/checks.h"
#include "drapps/augment/picture/resize.h"

namespace drapps {
namespace {

Resize to(const RandomResize& op, std::int32_t short_side) {
  return {.short_side = short_side,
          .interpolation = op.interpolation,
          .pass_order = op.pass_order,
          .arithmetic = op.arithmetic,
          .mask_nearest = op.mask_nearest};
}

}  // namespace

Status RandomResize::check() const {
  if (min_size < 1 || max_size <= min_size || max_size > kMaxSide) {
    return op_error(kTag, "sizes from " + std::to_string(min_size) + " to below " + std::to_string(max_size) +
                              "; give a range that rises, from 1 to " + std::to_string(kMaxSide));
  }
  return to(*this, min_size).check();
}

Result<PictureSpec> RandomResize::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  PictureSpec out = in;
  out.fixed = false;
  out.extent = {};
  return out;
}

Status RandomResize::run(Picture& picture, OpContext& ctx) const {
  const std::uint32_t more = ctx.draws.below(static_cast<std::uint32_t>(max_size - min_size));
  return to(*this, min_size + static_cast<std::int32_t>(more)).run(picture, ctx);
}

}  // namespace drapps
