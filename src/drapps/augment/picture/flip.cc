#include "drapps/augment/picture/flip.h"

#include "drapps/augment/picture/checks.h"
#include "drapps/augment/picture/moves.h"

namespace drapps {

Status HorizontalFlip::check() const { return check_probability(kTag, p); }

Result<PictureSpec> HorizontalFlip::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  return in;
}

Status HorizontalFlip::run(Picture& picture, OpContext& ctx) const {
  return ctx.draws.coin(p) ? moves::flip_horizontal(picture, ctx) : ok_status();
}

Status VerticalFlip::check() const { return check_probability(kTag, p); }

Result<PictureSpec> VerticalFlip::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  return in;
}

Status VerticalFlip::run(Picture& picture, OpContext& ctx) const {
  return ctx.draws.coin(p) ? moves::flip_vertical(picture, ctx) : ok_status();
}

}  // namespace drapps
