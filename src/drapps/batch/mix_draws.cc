#include "drapps/batch/mix_draws.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "drapps/augment/picture/checks.h"
#include "drapps/base/exact_math.h"

namespace drapps {
namespace {

constexpr double kLeastAlpha = 1e-6;
constexpr double kMostAlpha = 1e6;
constexpr std::int32_t kMostClasses = 1 << 20;

/// The logarithm of a number in (0, 1).
double log_uniform(Draws& draws) noexcept { return exact::log((draws.u32() + 0.5) * 0x1p-32); }

/// The logarithm of a gamma deviate.
double log_gamma_deviate(double shape, Draws& draws) noexcept {
  const double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
  const double c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = exact::normal(draws.u32());
    const double log_u = log_uniform(draws);
    const double t = 1 + c * x;
    if (t <= 0) continue;
    const double v = t * t * t;
    if (log_u >= 0.5 * x * x + d * (1 - v + exact::log(v))) continue;
    const double g = exact::log(d * v);
    return shape < 1 ? g + log_uniform(draws) / shape : g;
  }
}

Status check_alpha(const char* name, double alpha) {
  if (alpha == 0 || (alpha >= kLeastAlpha && alpha <= kMostAlpha)) return ok_status();
  return op_error(Mix::kTag, std::string(name) + " must be a number from 1e-6 to 1e6, or 0 to leave it out");
}

}  // namespace

Status Mix::check() const {
  DRAPPS_RETURN_IF_ERROR(check_alpha("mixup_alpha", mixup_alpha));
  DRAPPS_RETURN_IF_ERROR(check_alpha("cutmix_alpha", cutmix_alpha));
  if (mixup_alpha == 0 && cutmix_alpha == 0) {
    return op_error(kTag, "neither mixup_alpha nor cutmix_alpha is given; give one, or do not mix");
  }
  DRAPPS_RETURN_IF_ERROR(check_probability(kTag, p));
  DRAPPS_RETURN_IF_ERROR(check_probability(kTag, cutmix_share));
  if (num_classes < 1 || num_classes > kMostClasses) {
    return op_error(kTag, "num_classes is " + std::to_string(num_classes) + "; give a number from 1 to " +
                              std::to_string(kMostClasses));
  }
  return ok_status();
}

double draw_lambda(double alpha, Draws& draws) noexcept {
  const double g = log_gamma_deviate(alpha, draws);
  const double h = log_gamma_deviate(alpha, draws);
  return static_cast<float>(1 / (1 + exact::exp(h - g)));
}

MixDraw draw_mix(const Mix& mix, Extent extent, Draws draws) noexcept {
  if (!draws.coin(mix.p)) return {};
  const bool both = mix.mixup_alpha > 0 && mix.cutmix_alpha > 0;
  const bool cut = both ? draws.coin(mix.cutmix_share) : mix.cutmix_alpha > 0;
  const double lambda = draw_lambda(cut ? mix.cutmix_alpha : mix.mixup_alpha, draws);
  if (!cut) return {.kind = MixDraw::MixKind::kMixUp, .lambda = lambda};

  const auto [height, width] = extent;
  const auto x = static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(width)));
  const auto y = static_cast<std::int32_t>(draws.below(static_cast<std::uint32_t>(height)));
  const double half = 0.5 * std::sqrt(1 - lambda);
  const auto half_width = static_cast<std::int32_t>(half * width);
  const auto half_height = static_cast<std::int32_t>(half * height);
  const std::int32_t left = std::max(x - half_width, 0);
  const std::int32_t top = std::max(y - half_height, 0);
  const Rect box{top, left, std::min(y + half_height, height) - top, std::min(x + half_width, width) - left};
  const double taken = static_cast<double>(box.width) * box.height / (static_cast<double>(width) * height);
  return {.kind = MixDraw::MixKind::kCutMix, .lambda = 1 - taken, .box = box};
}

}  // namespace drapps
