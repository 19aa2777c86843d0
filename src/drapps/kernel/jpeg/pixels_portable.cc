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

/// Eight frequencies to eight samples, scaled by sqrt(8) and 2^(13 - shift).
///
/// 1. Even half: rotate (2, 6), and add and subtract (0, 4). The sums of 0 and 4 wrap.
/// 2. Odd half: four products that share z3 and z4, the sums of (7, 3) and (5, 1), which wrap too.
/// 3. Butterfly, round, shift, saturate.
/// Products pair up as the SIMD code pairs them; no 32-bit sum can overflow whatever the 16 bits hold.
void transform(std::int16_t out[8], const std::int16_t in[8], int shift) {
  const std::int32_t rotated0 = in[2] * 10703 + in[6] * 4433;
  const std::int32_t rotated1 = in[2] * 4433 - in[6] * 10704;
  const std::int32_t sum = wrapped(in[0] + in[4]) * 8192;
  const std::int32_t difference = wrapped(in[0] - in[4]) * 8192;
  const std::int32_t even[4]{sum + rotated0, difference + rotated1, difference - rotated1, sum - rotated0};

  const std::int16_t z3 = wrapped(in[7] + in[3]), z4 = wrapped(in[5] + in[1]);
  const std::int32_t shared3 = z3 * -6436 + z4 * 9633;
  const std::int32_t shared4 = z3 * 9633 + z4 * 6437;
  const std::int32_t odd[4]{in[7] * -7373 + in[1] * 4926 + shared4, in[5] * -20995 + in[3] * 4177 + shared3,
                            in[5] * -4176 + in[3] * -20995 + shared4, in[7] * -4927 + in[1] * -7373 + shared3};

  const std::int32_t half = 1 << (shift - 1);
  for (int k = 0; k < 4; ++k) {
    out[k] = saturated((even[k] + odd[k] + half) >> shift);
    out[7 - k] = saturated((even[k] - odd[k] + half) >> shift);
  }
}

void inverse_dct_block(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* block, const std::int16_t* quant) {
  // A block whose rows 1 … 7 are zero as quantised skips the first pass: its row 0 is shifted where it would have been
  // saturated, so that it wraps.
  const bool flat = std::all_of(block + 8, block + kBlock, [](std::int16_t c) { return c == 0; });
  std::int16_t columns[8][8];  // [horizontal frequency][y]
  for (std::size_t u = 0; u < 8; ++u) {
    std::int16_t in[8];
    for (std::size_t v = 0; v < 8; ++v) in[v] = wrapped(block[8 * v + u] * quant[8 * v + u]);
    if (flat) {
      std::fill_n(columns[u], 8, wrapped(in[0] * 4));
    } else {
      transform(columns[u], in, 11);
    }
  }
  for (std::size_t y = 0; y < 8; ++y) {
    std::int16_t in[8], row[8];
    for (std::size_t u = 0; u < 8; ++u) in[u] = columns[u][y];
    transform(row, in, 18);
    for (std::size_t x = 0; x < 8; ++x) out[x] = static_cast<std::uint8_t>(std::clamp(row[x] + 128, 0, 255));
    out += stride;
  }
}

void inverse_dct(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* blocks, std::size_t count,
                 const std::int16_t* quant) {
  for (std::size_t b = 0; b < count; ++b) inverse_dct_block(out + 8 * b, stride, blocks + kBlock * b, quant);
}

std::uint8_t clamped(std::int32_t x) { return static_cast<std::uint8_t>(std::clamp(x, 0, 255)); }

void ycc_to_rgb(std::uint8_t* const rgb[3], const std::uint8_t* const ycc[3], std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t y = ycc[0][i], cb = ycc[1][i] - 128, cr = ycc[2][i] - 128;
    rgb[0][i] = clamped(y + ((91881 * cr + 32768) >> 16));
    rgb[1][i] = clamped(y + ((-22554 * cb - 46802 * cr + 32768) >> 16));
    rgb[2][i] = clamped(y + ((116130 * cb + 32768) >> 16));
  }
}

}  // namespace

const PixelKernels kPixelsPortable{inverse_dct, upsample_across, upsample_down, upsample_both, ycc_to_rgb};

}  // namespace drapps::kernel::jpeg
