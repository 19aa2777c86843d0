// The reference of each kernel: the arithmetic as idct.h, upsample.h and ycc.h promise it, in the plainest form.
#include <algorithm>

#include "drapps/kernel/jpeg/idct.h"
#include "drapps/kernel/jpeg/pixel_kernels.h"
#include "drapps/kernel/jpeg/upsample_rows.h"

namespace drapps::kernel::jpeg {
namespace {

/// 16 bits that wrap, and 16 bits that saturate.
std::int16_t wrapped(std::int32_t x) { return static_cast<std::int16_t>(x); }
std::int16_t saturated(std::int32_t x) { return static_cast<std::int16_t>(std::clamp(x, -32768, 32767)); }

/// Eight times eight numbers of 16 bits: [frequency or sample of a transform][which transform].
struct Square {
  std::int16_t at[8][8];
};

/// Eight transforms of eight frequencies to eight samples, scaled by sqrt(8) and 2^(13 - shift).
///
/// 1. Even half: rotate (2, 6), and add and subtract (0, 4). The sums of 0 and 4 wrap.
/// 2. Odd half: four products that share z3 and z4, the sums of (7, 3) and (5, 1), which wrap too.
/// 3. Butterfly, round, shift, saturate.
/// Products pair up as the SIMD code pairs them; no 32-bit sum can overflow whatever the 16 bits hold.
template <int kShift>
Square transformed(const Square& in) {
  Square out;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::int16_t in0 = in.at[0][i], in1 = in.at[1][i], in2 = in.at[2][i], in3 = in.at[3][i];
    const std::int16_t in4 = in.at[4][i], in5 = in.at[5][i], in6 = in.at[6][i], in7 = in.at[7][i];
    constexpr std::int32_t kHalf = 1 << (kShift - 1);
    const std::int32_t sum = wrapped(in0 + in4) * 8192 + kHalf, difference = wrapped(in0 - in4) * 8192 + kHalf;
    const std::int32_t rotated0 = in2 * 10703 + in6 * 4433, rotated1 = in2 * 4433 - in6 * 10704;
    const std::int32_t even0 = sum + rotated0, even1 = difference + rotated1;
    const std::int32_t even2 = difference - rotated1, even3 = sum - rotated0;

    const std::int16_t z3 = wrapped(in7 + in3), z4 = wrapped(in5 + in1);
    const std::int32_t shared3 = z3 * -6436 + z4 * 9633, shared4 = z3 * 9633 + z4 * 6437;
    const std::int32_t odd0 = in7 * -7373 + in1 * 4926 + shared4, odd1 = in5 * -20995 + in3 * 4177 + shared3;
    const std::int32_t odd2 = in5 * -4176 + in3 * -20995 + shared4, odd3 = in7 * -4927 + in1 * -7373 + shared3;

    out.at[0][i] = saturated((even0 + odd0) >> kShift);
    out.at[1][i] = saturated((even1 + odd1) >> kShift);
    out.at[2][i] = saturated((even2 + odd2) >> kShift);
    out.at[3][i] = saturated((even3 + odd3) >> kShift);
    out.at[4][i] = saturated((even3 - odd3) >> kShift);
    out.at[5][i] = saturated((even2 - odd2) >> kShift);
    out.at[6][i] = saturated((even1 - odd1) >> kShift);
    out.at[7][i] = saturated((even0 - odd0) >> kShift);
  }
  return out;
}

Square transposed(const Square& in) {
  Square out;
  for (std::size_t i = 0; i < 8; ++i) {
    for (std::size_t j = 0; j < 8; ++j) out.at[j][i] = in.at[i][j];
  }
  return out;
}

void inverse_dct_block(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* block, const std::int16_t* quant) {
  Square coefficients;
  for (std::size_t i = 0; i < kBlock; ++i) coefficients.at[i / 8][i % 8] = wrapped(block[i] * quant[i]);
  // A block whose rows 1 … 7 are zero as quantised skips the first pass: its row 0 is shifted where it would have been
  // saturated, so that it wraps.
  Square columns;
  if (std::all_of(block + 8, block + kBlock, [](std::int16_t c) { return c == 0; })) {
    for (std::size_t y = 0; y < 8; ++y) {
      for (std::size_t u = 0; u < 8; ++u) columns.at[y][u] = wrapped(coefficients.at[0][u] * 4);
    }
  } else {
    columns = transformed<11>(coefficients);
  }
  const Square pixels = transposed(transformed<18>(transposed(columns)));
  for (std::size_t y = 0; y < 8; ++y) {
    for (std::size_t x = 0; x < 8; ++x) out[x] = static_cast<std::uint8_t>(std::clamp(pixels.at[y][x] + 128, 0, 255));
    out += stride;
  }
}

void inverse_dct(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* blocks, std::size_t count,
                 const std::int16_t* quant) {
  for (std::size_t b = 0; b < count; ++b) inverse_dct_block(out + 8 * b, stride, blocks + kBlock * b, quant);
}

std::uint8_t clamped(std::int32_t x) { return static_cast<std::uint8_t>(std::clamp(x, 0, 255)); }

void ycc_to_rgb(std::uint8_t* const rgb[3], const std::uint8_t* const ycc[3], std::size_t n) {
  std::uint8_t* __restrict red = rgb[0], * __restrict green = rgb[1], * __restrict blue = rgb[2];
  const std::uint8_t *luma = ycc[0], *blueness = ycc[1], *redness = ycc[2];
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t y = luma[i], cb = blueness[i] - 128, cr = redness[i] - 128;
    red[i] = clamped(y + ((91881 * cr + 32768) >> 16));
    green[i] = clamped(y + ((-22554 * cb - 46802 * cr + 32768) >> 16));
    blue[i] = clamped(y + ((116130 * cb + 32768) >> 16));
  }
}

}  // namespace

const PixelKernels kPixelsPortable{inverse_dct, upsample_across, upsample_down, upsample_both, ycc_to_rgb};

}  // namespace drapps::kernel::jpeg
