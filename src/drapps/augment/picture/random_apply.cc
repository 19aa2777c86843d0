#include "drapps/augment/picture/random_apply.h"

#include <algorithm>

#include "drapps/augment/picture/checks.h"

namespace drapps {

Status RandomApply::check() const {
  DRAPPS_RETURN_IF_ERROR(check_probability(kTag, p));
  if (count >= 1) return ok_status();
  return op_error(kTag, "count is " + std::to_string(count) + "; give the number of ops behind it, at least 1");
}

Result<PictureSpec> RandomApply::infer(const PictureSpec& in) const { return in; }

Status RandomApply::run(Picture& /*picture*/, OpContext& ctx) const {
  if (!ctx.draws.coin(p)) ctx.skip = count;
  return ok_status();
}

Result<PictureSpec> either(const PictureSpec& given, const PictureSpec& outcome) {
  if (given.channels != outcome.channels) {
    return op_error(RandomApply::kTag, "its ops make " + std::to_string(outcome.channels) + " of " +
                                           std::to_string(given.channels) + " channels, for some pictures only");
  }
  const auto bound = [](std::int32_t a, std::int32_t b) { return a == 0 || b == 0 ? 0 : std::max(a, b); };
  PictureSpec out = outcome;
  out.extent = {bound(given.extent.height, outcome.extent.height), bound(given.extent.width, outcome.extent.width)};
  out.fixed = given.fixed && outcome.fixed && given.extent == outcome.extent;
  out.erased = given.erased || outcome.erased;
  return out;
}

}  // namespace drapps
