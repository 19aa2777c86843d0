// Colour adjustments, byte for byte as torchvision does them on PIL images.
//
// Each is Pillow's own arithmetic: a blend of the picture with a degenerate of it (ImageEnhance), or a way
// through Pillow's 8-bit HSV. Pictures have one or three planes (grey or RGB), `out` the size of `in`; out
// may be the very same view as in. A factor of 1 copies; blends round towards zero and,
// outside [0, 1], clip.
#pragma once

#include <cstdint>

#include "drapps/data/image.h"
#include "drapps/kernel/level.h"

namespace drapps::kernel {

/// Blend with black; `factor` >= 0.
void adjust_brightness(ImageView out, ConstImageView in, float factor, Level level = active_level()) noexcept;

/// Blend with the uniform grey of contrast_mean(in); `factor` >= 0.
void adjust_contrast(ImageView out, ConstImageView in, float factor, Level level = active_level()) noexcept;

/// Blend with the picture's own grey version; `factor` >= 0. A grey picture is copied.
void adjust_saturation(ImageView out, ConstImageView in, float factor, Level level = active_level()) noexcept;

/// Turns the hue by `shift` turns, -0.5 … 0.5. A grey picture is copied. The way through 8-bit HSV loses a
/// little even at 0, as torchvision's does.
void adjust_hue(ImageView out, ConstImageView in, double shift, Level level = active_level()) noexcept;

/// Luma of ITU-R 601, (19595 r + 38470 g + 7471 b + 32768) >> 16, into each plane of `out`, which has
/// one or three.
void grayscale(ImageView out, ConstImageView in, Level level = active_level()) noexcept;

/// The mean of the grey version, rounded: the level that adjust_contrast blends with.
std::uint8_t contrast_mean(ConstImageView in, Level level = active_level()) noexcept;

}  // namespace drapps::kernel
