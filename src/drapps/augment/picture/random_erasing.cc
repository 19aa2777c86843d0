#include "drapps/augment/picture/random_erasing.h"

#include <cmath>

#include "drapps/augment/picture/checks.h"
#include "drapps/augment/picture/geometry.h"

namespace drapps {

Status RandomErasing::check() const {
  DRAPPS_RETURN_IF_ERROR(check_probability(kTag, p));
  DRAPPS_RETURN_IF_ERROR(check_range(kTag, "scale", scale, 0, 1));
  DRAPPS_RETURN_IF_ERROR(check_range(kTag, "ratio", ratio, 1e-6));
  if (value.empty() || value.size() > 4) {
    return op_error(kTag, "value has " + std::to_string(value.size()) + " numbers; give one, or one per channel");
  }
  for (const float number : value) {
    if (!std::isfinite(number)) return op_error(kTag, "value holds a number that is not finite");
  }
  if (min_count < 1 || max_count < min_count || max_count > kMaxSide) {
    return op_error(kTag, "from " + std::to_string(min_count) + " to " + std::to_string(max_count) +
                              " rectangles; give a range that rises, from at least 1");
  }
  return ok_status();
}

Result<PictureSpec> RandomErasing::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_per_channel(kTag, "value", value.size(), in.channels));
  PictureSpec out = in;
  out.erased = true;
  return out;
}

Status RandomErasing::run(Picture& picture, OpContext& ctx) const {
  Draws& draws = ctx.draws;
  if (!draws.coin(p)) return ok_status();
  std::int32_t count = min_count;
  if (min_count < max_count) {
    count += static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(max_count - min_count) + 1));
  }
  std::vector<Erasure>& erasures = ctx.trail != nullptr ? ctx.trail->erasures : picture.erasures;
  Erasure erasure{.fill = mode};
  for (std::size_t c = 0; c < erasure.value.size(); ++c) {
    erasure.value[c] = value.size() == 1 ? value[0] : c < value.size() ? value[c] : 0.0F;
  }
  for (std::int32_t i = 0; i < count; ++i) {
    const auto rect = geometry::random_erased_rect(picture.extent, scale, ratio, 1.0 / count, draws);
    if (!rect) continue;
    erasure.rect = *rect;
    if (mode != EraseMode::kConstant) {
      erasure.key = draws.u32();
      erasure.key |= static_cast<std::uint64_t>(draws.u32()) << 32;
    }
    if (rect->height > 0 && rect->width > 0) erasures.push_back(erasure);
  }
  return ok_status();
}

}  // namespace drapps
