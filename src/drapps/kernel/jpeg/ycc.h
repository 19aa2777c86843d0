// YCbCr of JFIF to RGB, bit for bit as libjpeg computes it: 16-bit fixed point, rounded, clamped to a byte.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"

namespace drapps::kernel::jpeg {

/// n pixels, plane to plane. Rows have any alignment; outputs do not overlap inputs; nothing past the n-th output is
/// written. Up to kPadding bytes past the end of an input row may be read.
void ycc_to_rgb(std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue, const std::uint8_t* y,
                const std::uint8_t* cb, const std::uint8_t* cr, std::size_t n, Level level = active_level()) noexcept;

}  // namespace drapps::kernel::jpeg
