#include "drapps/augment/center_crop.h"

#include "drapps/augment/checks.h"
#include "drapps/augment/moves.h"

namespace drapps {

Status CenterCrop::check() const { return check_sides(kTag, height, width); }

Result<SampleSpec> CenterCrop::infer(const SampleSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  SampleSpec out = in;
  out.extent = {height, width};
  out.fixed = true;
  return out;
}

Status CenterCrop::run(Sample& sample, OpContext& ctx) const {
  return moves::crop_with_border(sample, ctx, geometry::central_rect(sample.extent, {height, width}), {});
}

Rect CenterCrop::region(Extent whole, Draws) const {
  return moves::border_region(whole, geometry::central_rect(whole, {height, width}), PadMode::kConstant);
}

}  // namespace drapps
