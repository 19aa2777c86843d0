#include "drapps/augment/picture/grayscale.h"

#include "drapps/augment/picture/checks.h"
#include "drapps/kernel/color.h"

namespace drapps {
namespace {

Status make_gray(Picture& picture, OpContext& ctx, std::int32_t channels) {
  if (picture.image.channels == 1 && channels == 1) return ok_status();
  if (ctx.trail != nullptr) {
    ctx.trail->steps.push_back(
        {.kind = TrailStep::Kind::kGrayscale, .before = picture.extent, .after = picture.extent, .channels = channels});
    picture.image.channels = channels;
    return ok_status();
  }
  auto image = ctx.scratch.next_image(channels, picture.extent);
  DRAPPS_RETURN_IF_ERROR(image);
  kernel::grayscale(*image, picture.image);
  picture.image = *image;
  return ok_status();
}

}  // namespace

Status Grayscale::check() const {
  if (channels == 1 || channels == 3) return ok_status();
  return op_error(kTag, "channels is " + std::to_string(channels) + "; give 1 or 3");
}

Result<PictureSpec> Grayscale::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  PictureSpec out = in;
  out.channels = channels;
  return out;
}

Status Grayscale::run(Picture& picture, OpContext& ctx) const { return make_gray(picture, ctx, channels); }

Status RandomGrayscale::check() const { return check_probability(kTag, p); }

Result<PictureSpec> RandomGrayscale::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  return in;
}

Status RandomGrayscale::run(Picture& picture, OpContext& ctx) const {
  return ctx.draws.coin(p) ? make_gray(picture, ctx, picture.image.channels) : ok_status();
}

}  // namespace drapps
