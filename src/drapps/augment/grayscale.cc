#include "drapps/augment/grayscale.h"

#include "drapps/augment/checks.h"
#include "drapps/kernel/color.h"

namespace drapps {
namespace {

Status make_gray(Sample& sample, OpContext& ctx, std::int32_t channels) {
  if (sample.image.channels == 1 && channels == 1) return ok_status();
  auto image = ctx.scratch.next_image(channels, sample.extent);
  DRAPPS_RETURN_IF_ERROR(image);
  kernel::grayscale(*image, sample.image);
  sample.image = *image;
  return ok_status();
}

}  // namespace

Status Grayscale::check() const {
  if (channels == 1 || channels == 3) return ok_status();
  return op_error(kTag, "channels is " + std::to_string(channels) + "; give 1 or 3");
}

Result<SampleSpec> Grayscale::infer(const SampleSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  SampleSpec out = in;
  out.channels = channels;
  return out;
}

Status Grayscale::run(Sample& sample, OpContext& ctx) const { return make_gray(sample, ctx, channels); }

Status RandomGrayscale::check() const { return check_probability(kTag, p); }

Result<SampleSpec> RandomGrayscale::infer(const SampleSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  return in;
}

Status RandomGrayscale::run(Sample& sample, OpContext& ctx) const {
  return ctx.draws.coin(p) ? make_gray(sample, ctx, sample.image.channels) : ok_status();
}

}  // namespace drapps
