#include "drapps/augment/picture/resize_keep_ratio.h"

#include <algorithm>
#include <cmath>

#include "drapps/augment/picture/checks.h"
#include "drapps/augment/picture/geometry.h"
#include "drapps/augment/picture/resize.h"
#include "drapps/base/exact_math.h"

namespace drapps {
namespace {

std::int32_t length(std::int32_t side, double factor, double ratio) noexcept {
  return static_cast<std::int32_t>(std::min(geometry::round_half_even(side * factor / ratio), 0x1p30));
}

}  // namespace

Extent ResizeKeepRatio::target(Extent whole, double height_factor, double width_factor) const noexcept {
  const double high = static_cast<double>(whole.height) / height;
  const double wide = static_cast<double>(whole.width) / width;
  const double ratio = std::max(high, wide) * longest + std::min(high, wide) * (1.0 - longest);
  return {length(whole.height, height_factor, ratio), length(whole.width, width_factor, ratio)};
}

Status ResizeKeepRatio::check() const {
  DRAPPS_RETURN_IF_ERROR(check_sides(kTag, height, width));
  DRAPPS_RETURN_IF_ERROR(check_range(kTag, "longest", {longest, longest}, 0, 1));
  DRAPPS_RETURN_IF_ERROR(check_probability(kTag, scale_p));
  DRAPPS_RETURN_IF_ERROR(check_range(kTag, "scale", scale, 1e-6));
  DRAPPS_RETURN_IF_ERROR(check_probability(kTag, aspect_p));
  return check_range(kTag, "aspect", aspect, 1e-6);
}

Result<PictureSpec> ResizeKeepRatio::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  PictureSpec out = in;
  out.fixed = in.fixed && scale_p == 0 && aspect_p == 0;
  out.extent = {};
  if (!out.fixed) return out;
  const Extent to = target(in.extent, 1.0, 1.0);
  return Resize{.height = to.height, .width = to.width}.infer(in);
}

Status ResizeKeepRatio::run(Picture& picture, OpContext& ctx) const {
  double high = 1.0;
  double wide = 1.0;
  if (ctx.draws.coin(scale_p)) {
    const double drawn = ctx.draws.uniform(scale[0], scale[1]);
    high = wide = scale_area ? 1.0 / std::sqrt(drawn) : drawn;
  }
  if (ctx.draws.coin(aspect_p)) {
    const double drawn = exact::exp(ctx.draws.uniform(exact::log(aspect[0]), exact::log(aspect[1])));
    high /= std::sqrt(drawn);
    wide *= std::sqrt(drawn);
  }
  Interpolation chosen = interpolation;
  if (chosen == Interpolation::kRandom) {
    chosen = ctx.draws.coin(0.5) ? Interpolation::kBilinear : Interpolation::kBicubic;
  }
  const Extent to = target(picture.extent, high, wide);
  return Resize{.height = to.height,
                .width = to.width,
                .interpolation = chosen,
                .pass_order = pass_order,
                .mask_nearest = mask_nearest}
      .run(picture, ctx);
}

}  // namespace drapps
