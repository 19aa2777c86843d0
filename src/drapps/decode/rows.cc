#include "drapps/decode/rows.h"

#include <cstddef>
#include <cstring>

#include "drapps/kernel/planes.h"

namespace drapps {
namespace {

/// Calls pixel(x) -> {r, g, b} along a row.
template <class Pixel>
void store(const ImageView& out, std::int32_t y, Pixel pixel) {
  struct RgbLevels {
    unsigned red, green, blue;
  };
  if (out.channels == 1) {
    std::uint8_t* gray = out.row(0, y);
    for (std::int32_t x = 0; x < out.width; ++x) {
      const auto [red, green, blue] = pixel(x, RgbLevels{});
      gray[x] = luma(red, green, blue);
    }
    return;
  }
  std::uint8_t *red_row = out.row(0, y), *green_row = out.row(1, y), *blue_row = out.row(2, y);
  for (std::int32_t x = 0; x < out.width; ++x) {
    const auto [red, green, blue] = pixel(x, RgbLevels{});
    red_row[x] = static_cast<std::uint8_t>(red);
    green_row[x] = static_cast<std::uint8_t>(green);
    blue_row[x] = static_cast<std::uint8_t>(blue);
  }
}

/// Pillow's MULDIV255.
constexpr unsigned multiply_255(unsigned a, unsigned b) {
  const unsigned product = a * b + 128;
  return ((product >> 8) + product) >> 8;
}

}  // namespace

void store_rgb(const ImageView& out, std::int32_t y, const std::uint8_t* source) {
  if (out.channels == 3) {
    return kernel::deinterleave3(out.row(0, y), out.row(1, y), out.row(2, y), source,
                                 static_cast<std::size_t>(out.width));
  }
  store(out, y, [source](std::int32_t x, auto rgb) -> decltype(rgb) {
    return {source[3 * x], source[3 * x + 1], source[3 * x + 2]};
  });
}

void store_rgba(const ImageView& out, std::int32_t y, const std::uint8_t* source) {
  store(out, y, [source](std::int32_t x, auto rgb) -> decltype(rgb) {
    return {source[4 * x], source[4 * x + 1], source[4 * x + 2]};
  });
}

void store_gray(const ImageView& out, std::int32_t y, const std::uint8_t* source) {
  for (std::int32_t channel = 0; channel < out.channels; ++channel) {
    std::memcpy(out.row(channel, y), source, static_cast<std::size_t>(out.width));
  }
}

void store_gray_alpha(const ImageView& out, std::int32_t y, const std::uint8_t* source) {
  for (std::int32_t channel = 0; channel < out.channels; ++channel) {
    std::uint8_t* row = out.row(channel, y);
    for (std::int32_t x = 0; x < out.width; ++x) row[x] = source[2 * x];
  }
}

void store_inverted_cmyk(const ImageView& out, std::int32_t y, const std::uint8_t* source) {
  store(out, y, [source](std::int32_t x, auto rgb) -> decltype(rgb) {
    // Pillow subtracts the ink from what the black leaves; the rounding differs from a plain product's.
    const unsigned light = source[4 * x + 3];
    const auto channel = [&](int c) { return light - multiply_255(255u - source[4 * x + c], light); };
    return {channel(0), channel(1), channel(2)};
  });
}

void store_inverted_cmyk_product(const ImageView& out, std::int32_t y, const std::uint8_t* source) {
  store(out, y, [source](std::int32_t x, auto rgb) -> decltype(rgb) {
    const auto channel = [&](int c) { return unsigned{source[4 * x + c]} * source[4 * x + 3] / 255u; };
    return {channel(0), channel(1), channel(2)};
  });
}

void store_cmyk_product(const ImageView& out, std::int32_t y, const std::uint8_t* source) {
  store(out, y, [source](std::int32_t x, auto rgb) -> decltype(rgb) {
    const auto channel = [&](int c) { return (255u - source[4 * x + c]) * (255u - source[4 * x + 3]) / 255u; };
    return {channel(0), channel(1), channel(2)};
  });
}

}  // namespace drapps
