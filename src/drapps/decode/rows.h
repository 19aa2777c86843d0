// Rows of interleaved pixels, as codecs give them, into the planes of a picture. The arithmetic is Pillow's where
// nothing else is said.
#pragma once

#include <cstdint>

#include "drapps/data/image.h"

namespace drapps {

/// Each store function writes row `y` of `out`, out.width pixels, from a source row that starts at the first pixel
/// wanted. `out` has three planes (RGB) or one, which is then the luma of convert("L").
void store_rgb(const ImageView& out, std::int32_t y, const std::uint8_t* source);
void store_rgba(const ImageView& out, std::int32_t y, const std::uint8_t* source);  // the fourth byte is dropped
void store_gray(const ImageView& out, std::int32_t y, const std::uint8_t* source);
void store_gray_alpha(const ImageView& out, std::int32_t y, const std::uint8_t* source);
/// Four inks, where 255 is none of it: what an Adobe JPEG holds.
void store_inverted_cmyk(const ImageView& out, std::int32_t y, const std::uint8_t* source);
/// Four inks, where 255 is none of it, by TensorFlow's product, rounded down. store_cmyk_product() is for inks where 0
/// is none of it, as TensorFlow takes them without Adobe's marker.
void store_inverted_cmyk_product(const ImageView& out, std::int32_t y, const std::uint8_t* source);
void store_cmyk_product(const ImageView& out, std::int32_t y, const std::uint8_t* source);

/// Luma of one pixel as convert("L") makes it.
constexpr std::uint8_t luma(unsigned red, unsigned green, unsigned blue) noexcept {
  return static_cast<std::uint8_t>((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16);
}

}  // namespace drapps
