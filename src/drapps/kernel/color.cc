#include "drapps/kernel/color.h"

#include <algorithm>
#include <array>

#include "drapps/kernel/color_kernels.h"
#include "drapps/kernel/planes.h"

namespace drapps::kernel {
namespace {

const ColorKernels& color_kernels(Level level) noexcept {
  switch (level) {
    case Level::kAvx512Vbmi: return kColorAvx512Vbmi;
    case Level::kAvx512: return kColorAvx512;
    case Level::kAvx2: return kColorAvx2;
    case Level::kPortable: break;
  }
  return kColorPortable;
}

bool needs_clip(float factor) noexcept { return factor < 0.0F || factor > 1.0F; }

/// Pillow's blend of one pair of bytes.
std::uint8_t blended(int degenerate, int pixel, float factor) noexcept {
  const float value = static_cast<float>(degenerate) + factor * static_cast<float>(pixel - degenerate);
  return static_cast<std::uint8_t>(needs_clip(factor) ? std::clamp(value, 0.0F, 255.0F) : value);
}

/// A blend with one grey is a table of 256 bytes.
void blend_with(ImageView out, ConstImageView in, int grey, float factor, Level level) noexcept {
  std::array<std::uint8_t, 256> table;
  for (int x = 0; x < 256; ++x) table[static_cast<std::size_t>(x)] = blended(grey, x, factor);
  for (std::int32_t c = 0; c < in.channels; ++c) {
    for (std::int32_t y = 0; y < in.height; ++y) {
      lookup(out.row(c, y), in.row(c, y), static_cast<std::size_t>(in.width), table, level);
    }
  }
}

void copy_unless_same(ImageView out, ConstImageView in) noexcept {
  if (out.data != in.data) copy(out, in);
}

std::uint64_t sum_of(const std::uint8_t* bytes, std::size_t n) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum += bytes[i];
  return sum;
}

template <class Body>
void each_row(ImageView out, ConstImageView in, Body body) noexcept {
  for (std::int32_t y = 0; y < in.height; ++y) {
    std::uint8_t* const to[]{out.row(0, y), out.row(1, y), out.row(2, y)};
    const std::uint8_t* const from[]{in.row(0, y), in.row(1, y), in.row(2, y)};
    body(to, from, static_cast<std::size_t>(in.width));
  }
}

}  // namespace

void adjust_brightness(ImageView out, ConstImageView in, float factor, Level level) noexcept {
  blend_with(out, in, 0, factor, level);
}

void adjust_contrast(ImageView out, ConstImageView in, float factor, Level level) noexcept {
  blend_with(out, in, contrast_mean(in, level), factor, level);
}

void adjust_saturation(ImageView out, ConstImageView in, float factor, Level level) noexcept {
  if (in.channels != 3) return copy_unless_same(out, in);
  const ColorKernels& kernels = color_kernels(level);
  each_row(out, in, [&](std::uint8_t* const* to, const std::uint8_t* const* from, std::size_t n) {
    kernels.saturate(to, from, n, factor, needs_clip(factor));
  });
}

void adjust_hue(ImageView out, ConstImageView in, double shift, Level level) noexcept {
  if (in.channels != 3) return copy_unless_same(out, in);
  const ColorKernels& kernels = color_kernels(level);
  const auto steps = static_cast<std::uint8_t>(static_cast<std::int32_t>(shift * 255));
  each_row(out, in, [&](std::uint8_t* const* to, const std::uint8_t* const* from, std::size_t n) {
    kernels.turn_hue(to, from, n, steps);
  });
}

void grayscale(ImageView out, ConstImageView in, Level level) noexcept {
  const auto width = static_cast<std::size_t>(in.width);
  for (std::int32_t y = 0; y < in.height; ++y) {
    std::uint8_t* first = out.row(0, y);
    if (in.channels == 3) {
      const std::uint8_t* const from[]{in.row(0, y), in.row(1, y), in.row(2, y)};
      color_kernels(level).luma(first, from, width);
    } else if (first != in.row(0, y)) {
      std::copy_n(in.row(0, y), width, first);
    }
    for (std::int32_t c = 1; c < out.channels; ++c) std::copy_n(first, width, out.row(c, y));
  }
}

std::uint8_t contrast_mean(ConstImageView in, Level level) noexcept {
  constexpr std::size_t kTile = 512;
  std::array<std::uint8_t, kTile> grey;
  const auto width = static_cast<std::size_t>(in.width);
  std::uint64_t sum = 0;
  for (std::int32_t y = 0; y < in.height; ++y) {
    if (in.channels != 3) {
      sum += sum_of(in.row(0, y), width);
      continue;
    }
    for (std::size_t x = 0; x < width; x += kTile) {
      const std::size_t n = std::min(kTile, width - x);
      const std::uint8_t* const from[]{in.row(0, y) + x, in.row(1, y) + x, in.row(2, y) + x};
      color_kernels(level).luma(grey.data(), from, n);
      sum += sum_of(grey.data(), n);
    }
  }
  const double mean = static_cast<double>(sum) / (static_cast<double>(in.width) * in.height);
  return static_cast<std::uint8_t>(mean + 0.5);
}

}  // namespace drapps::kernel
