#include <algorithm>
#include <array>

#include "drapps/kernel/resize.h"

namespace drapps::kernel {
namespace {

/// Pillow adds the step up in double precision rather than multiplying: the roundings are part of the result.
struct PillowWalk {
  double at;
  double step;
  std::int32_t limit;

  PillowWalk(std::int32_t in, std::int32_t out) noexcept
      : at(static_cast<double>(in) / out * 0.5), step(static_cast<double>(in) / out), limit(in) {}

  /// The next source pixel, or -1 where the rounded sum has left the picture.
  std::int32_t next() noexcept {
    const auto pixel = static_cast<std::int32_t>(at);
    at += step;
    return pixel < limit ? pixel : -1;
  }
};

/// PyTorch multiplies in single precision.
struct TorchWalk {
  float step;
  std::int32_t limit;
  std::int32_t place = 0;

  TorchWalk(std::int32_t in, std::int32_t out) noexcept
      : step(static_cast<float>(in) / static_cast<float>(out)), limit(in) {}

  std::int32_t next() noexcept {
    return std::min(static_cast<std::int32_t>(static_cast<float>(place++) * step), limit - 1);
  }
};

template <class Walk>
void resize(ImageView out, ConstImageView in) noexcept {
  constexpr std::int32_t kStrip = 512;
  std::array<std::int32_t, kStrip> columns;
  Walk across(in.width, out.width);
  for (std::int32_t x0 = 0; x0 < out.width; x0 += kStrip) {
    const std::int32_t n = std::min(kStrip, out.width - x0);
    for (std::int32_t x = 0; x < n; ++x) columns[static_cast<std::size_t>(x)] = across.next();
    Walk down(in.height, out.height);
    for (std::int32_t y = 0; y < out.height; ++y) {
      const std::int32_t source_y = down.next();
      for (std::int32_t c = 0; c < out.channels; ++c) {
        std::uint8_t* target = out.row(c, y) + x0;
        const std::uint8_t* source = in.row(c, std::max(source_y, 0));
        for (std::int32_t x = 0; x < n; ++x) {
          const std::int32_t source_x = columns[static_cast<std::size_t>(x)];
          target[x] = source_x < 0 || source_y < 0 ? std::uint8_t{0} : source[source_x];
        }
      }
    }
  }
}

}  // namespace

void resize_nearest(ImageView out, ConstImageView in, Nearest nearest) noexcept {
  if (nearest == Nearest::kTorch) {
    resize<TorchWalk>(out, in);
  } else {
    resize<PillowWalk>(out, in);
  }
}

void nearest_pixels(std::span<std::int32_t> pixels, std::int32_t in, Nearest nearest) noexcept {
  const auto fill = [&](auto walk) {
    for (std::int32_t& pixel : pixels) pixel = walk.next();
  };
  const auto out = static_cast<std::int32_t>(pixels.size());
  if (nearest == Nearest::kTorch) {
    fill(TorchWalk(in, out));
  } else {
    fill(PillowWalk(in, out));
  }
}

}  // namespace drapps::kernel
