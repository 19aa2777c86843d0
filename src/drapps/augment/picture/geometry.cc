#include "drapps/augment/picture/geometry.h"

#include <algorithm>
#include <cmath>

#include "drapps/base/exact_math.h"

namespace drapps::geometry {
namespace {

constexpr int kTries = 10;

struct Sides {
  double height;
  double width;
};

std::int32_t length(double x) noexcept { return static_cast<std::int32_t>(std::min(x, 0x1p30)); }

/// One random area and aspect ratio; `ratio` is of width over height.
Sides random_sides(Extent whole, const Range& scale, const Range& ratio, double share, Draws& draws) noexcept {
  const double area = static_cast<double>(whole.height) * whole.width * draws.uniform(scale[0], scale[1]) * share;
  const double aspect = exact::exp(draws.uniform(exact::log(ratio[0]), exact::log(ratio[1])));
  return {round_half_even(std::sqrt(area / aspect)), round_half_even(std::sqrt(area * aspect))};
}

/// What of a picture has the nearest of the allowed ratios; a side may be 0.
Extent nearest_ratio_extent(Extent whole, const Range& ratio) noexcept {
  const double shape = static_cast<double>(whole.width) / whole.height;
  Extent crop = whole;
  if (shape < ratio[0]) {
    crop.height = length(round_half_even(whole.width / ratio[0]));
  } else if (shape > ratio[1]) {
    crop.width = length(round_half_even(whole.height * ratio[1]));
  }
  return crop;
}

std::int32_t central_start(std::int32_t whole, std::int32_t crop, Rounding rounding) noexcept {
  if (crop > whole) return -((crop - whole) / 2);
  if (rounding == Rounding::kDown) return (whole - crop) / 2;
  return length(round_half_even((whole - crop) / 2.0));
}

}  // namespace

Rect intersection(const Rect& a, const Rect& b) noexcept {
  const std::int32_t top = std::max(a.top, b.top);
  const std::int32_t left = std::max(a.left, b.left);
  const std::int32_t bottom = std::min(a.top + a.height, b.top + b.height);
  const std::int32_t right = std::min(a.left + a.width, b.left + b.width);
  if (bottom <= top || right <= left) return {top, left, 0, 0};
  return {top, left, bottom - top, right - left};
}

double round_half_even(double x) noexcept { return std::nearbyint(x); }

Extent resized_extent(Extent whole, std::int32_t short_side, std::int32_t max_size) noexcept {
  const double short_now = std::min(whole.height, whole.width);
  const double long_now = std::max(whole.height, whole.width);
  std::int32_t short_new = short_side;
  std::int32_t long_new = max_size;
  if (short_side == 0) {
    short_new = length(max_size * short_now / long_now);
  } else {
    long_new = length(short_side * long_now / short_now);
    if (max_size > 0 && long_new > max_size) {
      short_new = length(static_cast<double>(max_size) * short_side / long_new);
      long_new = max_size;
    }
  }
  return whole.width <= whole.height ? Extent{long_new, short_new} : Extent{short_new, long_new};
}

Rect central_rect(Extent whole, Extent crop, Rounding rounding) noexcept {
  return {central_start(whole.height, crop.height, rounding), central_start(whole.width, crop.width, rounding),
          crop.height, crop.width};
}

Rect random_resized_rect(Extent whole, const Range& scale, const Range& ratio, Draws& draws) noexcept {
  for (int i = 0; i < kTries; ++i) {
    const Sides sides = random_sides(whole, scale, ratio, 1.0, draws);
    if (sides.height > 0 && sides.height <= whole.height && sides.width > 0 && sides.width <= whole.width) {
      return random_rect(whole, {length(sides.height), length(sides.width)}, draws);
    }
  }
  const Extent crop = nearest_ratio_extent(whole, ratio);
  return central_rect(whole, {std::max(crop.height, 1), std::max(crop.width, 1)}, Rounding::kDown);
}

std::optional<Rect> torch_resized_rect(Extent whole, const Range& scale, const Range& log_ratio, const Range& ratio,
                                       TorchNumbers& numbers) noexcept {
  const auto uniform = [&](const Range& range) {
    return numbers.uniform(static_cast<float>(range[0]), static_cast<float>(range[1]));
  };
  for (int i = 0; i < kTries; ++i) {
    const double area = static_cast<double>(whole.height) * whole.width * static_cast<double>(uniform(scale));
    // torch's exponential is right to one unit of the last place: the ratios two units below and two units above have
    // to make one rectangle.
    const auto aspect = static_cast<float>(std::exp(static_cast<double>(uniform(log_ratio))));
    const auto sides = [&](float far) -> Sides {
      const auto end = static_cast<double>(std::nextafter(std::nextafter(aspect, far), far));
      return {round_half_even(std::sqrt(area / end)), round_half_even(std::sqrt(area * end))};
    };
    const Sides low = sides(0.0f), high = sides(HUGE_VALF);
    if (low.height != high.height || low.width != high.width) return std::nullopt;
    if (low.height > 0 && low.height <= whole.height && low.width > 0 && low.width <= whole.width) {
      const Extent crop{length(low.height), length(low.width)};
      const std::uint32_t top = numbers.below(static_cast<std::uint32_t>(whole.height - crop.height) + 1);
      const std::uint32_t left = numbers.below(static_cast<std::uint32_t>(whole.width - crop.width) + 1);
      return Rect{static_cast<std::int32_t>(top), static_cast<std::int32_t>(left), crop.height, crop.width};
    }
  }
  const Extent crop = nearest_ratio_extent(whole, ratio);
  if (crop.height < 1 || crop.width < 1) return std::nullopt;
  return central_rect(whole, crop, Rounding::kDown);
}

std::optional<Rect> random_erased_rect(Extent whole, const Range& scale, const Range& ratio, double share,
                                       Draws& draws) noexcept {
  for (int i = 0; i < kTries; ++i) {
    // The ratio of an erasure is its height over its width, that of a crop the other way round.
    const Sides turned = random_sides(whole, scale, ratio, share, draws);
    const Sides sides{turned.width, turned.height};
    if (sides.height < whole.height && sides.width < whole.width) {
      return random_rect(whole, {length(sides.height), length(sides.width)}, draws);
    }
  }
  return std::nullopt;
}

Rect random_rect(Extent whole, Extent crop, Draws& draws) noexcept {
  const std::uint32_t top = draws.below(static_cast<std::uint32_t>(whole.height - crop.height) + 1);
  const std::uint32_t left = draws.below(static_cast<std::uint32_t>(whole.width - crop.width) + 1);
  return {static_cast<std::int32_t>(top), static_cast<std::int32_t>(left), crop.height, crop.width};
}

}  // namespace drapps::geometry
