// The inverse discrete cosine transform of JPEG, bit for bit as libjpeg-turbo's SIMD code computes it (JDCT_ISLOW).
//
// The accurate integer method of Loeffler, Ligtenberg and Moschytz ("Practical fast 1-D DCT algorithms with 11
// multiplications", ICASSP 1989) with 13-bit constants: columns, then rows. libjpeg-turbo's SIMD code keeps 16 bits
// between the steps and saturates where it packs; hostile coefficients show the difference to the C code, and pixels
// here follow the SIMD code for any coefficients and quantisers at all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"

namespace drapps::kernel::jpeg {

/// Coefficients of a block: [8 vertical][8 horizontal frequencies], as quantised.
inline constexpr std::size_t kBlock = 64;

/// Transforms `count` blocks that lie one behind the other, into as many squares of 8 x 8 pixels side by side.
/// @param out     8 rows of 8 * count bytes, `stride` apart, of any alignment; nothing else is written.
/// @param blocks  count * kBlock numbers, aligned to 64 bytes.
/// @param quant   kBlock factors in the order of a block, aligned to 64 bytes.
void inverse_dct(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* blocks, std::size_t count,
                 const std::int16_t* quant, Level level = active_level()) noexcept;

}  // namespace drapps::kernel::jpeg
