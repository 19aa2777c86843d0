#include "drapps/augment/flip.h"

#include "drapps/augment/checks.h"
#include "drapps/augment/moves.h"

namespace drapps {

Status HorizontalFlip::check() const { return check_probability(kTag, p); }

Result<SampleSpec> HorizontalFlip::infer(const SampleSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  return in;
}

Status HorizontalFlip::run(Sample& sample, OpContext& ctx) const {
  return ctx.draws.coin(p) ? moves::flip_horizontal(sample, ctx) : ok_status();
}

Status VerticalFlip::check() const { return check_probability(kTag, p); }

Result<SampleSpec> VerticalFlip::infer(const SampleSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  return in;
}

Status VerticalFlip::run(Sample& sample, OpContext& ctx) const {
  return ctx.draws.coin(p) ? moves::flip_vertical(sample, ctx) : ok_status();
}

}  // namespace drapps
