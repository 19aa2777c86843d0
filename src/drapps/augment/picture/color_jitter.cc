#include "drapps/augment/picture/color_jitter.h"

#include "drapps/augment/picture/checks.h"
#include "drapps/kernel/color.h"

namespace drapps {
namespace {

constexpr double kMaxFactor = 1e6;

bool neutral(const std::array<double, 2>& range, double value) noexcept {
  return range[0] == value && range[1] == value;
}

void adjust(ColorJitter::JitterStep step, ImageView out, ConstImageView in, double factor) noexcept {
  switch (step) {
    case ColorJitter::kBrightness: return kernel::adjust_brightness(out, in, static_cast<float>(factor));
    case ColorJitter::kContrast: return kernel::adjust_contrast(out, in, static_cast<float>(factor));
    case ColorJitter::kSaturation: return kernel::adjust_saturation(out, in, static_cast<float>(factor));
    case ColorJitter::kHue: return kernel::adjust_hue(out, in, factor);
  }
}

TrailStep::Kind kind_of(ColorJitter::JitterStep step) noexcept {
  switch (step) {
    case ColorJitter::kBrightness: return TrailStep::Kind::kBrightness;
    case ColorJitter::kContrast: return TrailStep::Kind::kContrast;
    case ColorJitter::kSaturation: return TrailStep::Kind::kSaturation;
    case ColorJitter::kHue: return TrailStep::Kind::kHue;
  }
  return TrailStep::Kind::kBrightness;
}

}  // namespace

ColorJitter::Drawn ColorJitter::draw(Draws& draws) const noexcept {
  Drawn drawn;
  std::array<JitterStep, 4> left{kBrightness, kContrast, kSaturation, kHue};
  std::uint32_t rank = draws.below(24);
  constexpr std::array<std::uint32_t, 4> kFactorial{6, 2, 1, 1};
  for (std::size_t i = 0; i < 4; ++i) {
    const std::size_t which = rank / kFactorial[i];
    rank %= kFactorial[i];
    drawn.order[i] = left[which];
    for (std::size_t j = which; j + 1 < 4 - i; ++j) left[j] = left[j + 1];
  }
  const std::array<const std::array<double, 2>*, 4> ranges{&brightness, &contrast, &saturation, &hue};
  for (std::size_t step = 0; step < 4; ++step) {
    const std::array<double, 2>& range = *ranges[step];
    drawn.on[step] = !neutral(range, step == kHue ? 0.0 : 1.0);
    if (drawn.on[step]) drawn.factor[step] = draws.uniform(range[0], range[1]);
  }
  return drawn;
}

Status ColorJitter::check() const {
  DRAPPS_RETURN_IF_ERROR(check_range(kTag, "brightness", brightness, 0, kMaxFactor));
  DRAPPS_RETURN_IF_ERROR(check_range(kTag, "contrast", contrast, 0, kMaxFactor));
  DRAPPS_RETURN_IF_ERROR(check_range(kTag, "saturation", saturation, 0, kMaxFactor));
  return check_range(kTag, "hue", hue, -0.5, 0.5);
}

Result<PictureSpec> ColorJitter::infer(const PictureSpec& in) const {
  DRAPPS_RETURN_IF_ERROR(check_not_erased(kTag, in));
  return in;
}

Status ColorJitter::run(Picture& picture, OpContext& ctx) const {
  const Drawn drawn = draw(ctx.draws);
  bool moved = false;
  for (const JitterStep step : drawn.order) {
    const bool gray_keeps = picture.image.channels == 1 && (step == kSaturation || step == kHue);
    if (!drawn.on[step] || gray_keeps) continue;
    if (ctx.trail != nullptr) {
      ctx.trail->steps.push_back(
          {.kind = kind_of(step), .before = picture.extent, .after = picture.extent, .factor = drawn.factor[step]});
      continue;
    }
    ImageView out = picture.image;
    if (!moved) {
      auto image = ctx.scratch.next_image(picture.image.channels, picture.extent);
      DRAPPS_RETURN_IF_ERROR(image);
      out = *image;
      moved = true;
    }
    adjust(step, out, picture.image, drawn.factor[step]);
    picture.image = out;
  }
  return ok_status();
}

}  // namespace drapps
