#include "drapps/augment/picture/random_crop.h"

#include <algorithm>

#include "drapps/augment/picture/checks.h"
#include "drapps/augment/picture/moves.h"

namespace drapps {
namespace {

/// What pad_if_needed adds on each side.
std::int32_t missing(std::int32_t padded, std::int32_t wanted) noexcept { return std::max(wanted - padded, 0); }

}  // namespace

std::optional<Rect> RandomCrop::place(Extent whole, Draws& draws) const noexcept {
  Extent padded{whole.height + pad_top + pad_bottom, whole.width + pad_left + pad_right};
  const std::int32_t more_rows = pad_if_needed ? missing(padded.height, height) : 0;
  const std::int32_t more_columns = pad_if_needed ? missing(padded.width, width) : 0;
  padded = {padded.height + 2 * more_rows, padded.width + 2 * more_columns};
  if (padded.height < height || padded.width < width) return std::nullopt;
  const Rect rect = geometry::random_rect(padded, {height, width}, draws);
  return Rect{rect.top - pad_top - more_rows, rect.left - pad_left - more_columns, height, width};
}

Status RandomCrop::check() const {
  DRAPPS_RETURN_IF_ERROR(check_sides(kTag, height, width));
  return check_border(kTag, std::array{pad_left, pad_top, pad_right, pad_bottom}, fill, mask_fill);
}

Result<PictureSpec> RandomCrop::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  DRAPPS_RETURN_IF_ERROR(check_per_channel(kTag, "fill", fill.size(), in.channels));
  Draws any({}, 0);
  if (in.fixed && !place(in.extent, any)) {
    return op_error(kTag, "a crop of " + to_string({height, width}) + " does not fit pictures of " +
                              to_string(in.extent) + "; pad them, set pad_if_needed or resize first");
  }
  PictureSpec out = in;
  out.extent = {height, width};
  out.fixed = true;
  return out;
}

Status RandomCrop::run(Picture& picture, OpContext& ctx) const {
  const std::optional<Rect> rect = place(picture.extent, ctx.draws);
  if (!rect) {
    return op_error(kTag,
                    "a crop of " + to_string({height, width}) + " does not fit a picture of " +
                        to_string(picture.extent) + "; pad it, set pad_if_needed or resize first",
                    Stage::kAugment);
  }
  return moves::crop_with_border(picture, ctx, *rect, {mode, fill, mask_fill});
}

Rect RandomCrop::region(Extent whole, Draws draws) const {
  const std::optional<Rect> rect = place(whole, draws);
  return rect ? moves::border_region(whole, *rect, mode) : geometry::whole_rect(whole);
}

}  // namespace drapps
