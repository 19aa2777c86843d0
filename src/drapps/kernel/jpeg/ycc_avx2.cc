// 32 pixels at a time, in 16 bits.
//
// With b = cb - 128, r = cr - 128 and rounding always downwards, the factors of ycc.h take more than 16 bits, so that
// each is split:
//
// - Red is y + r + (26345 r + 2^15) / 2^16. The fraction comes from vpmulhrsw, which computes (a r + 2^14) / 2^15: with
//   a = 13172 instead of half of 26345 it is the same for each of the 256 values.
// - Blue is y + 2 b + (-14942 b + 2^15) / 2^16; half of that factor is a whole number.
// - Green is y - r + (-22554 b + 18734 r + 2^15) / 2^16. Here all 16 bits below the point decide, so the factors go as
//   digits to the base 256, -22554 = -88 * 256 - 26 and 18734 = 73 * 256 + 46, for vpmaddubsw, which multiplies bytes
//   without a sign by bytes with one. With cb and cr instead of b and r the constant is
//   128 * (22554 - 18734) + 2^15 = 2038 * 256, of which no lower digit is left:
//   ((-88 cb + 73 cr) + (-26 cb + 46 cr) / 256 + 2038) / 256.
//
// The test compares every pair of chroma.
#include <immintrin.h>

#include "drapps/kernel/jpeg/pixel_kernels.h"
#include "drapps/kernel/jpeg/ycc_rows.h"

namespace drapps::kernel::jpeg {
namespace {

using Vec = __m256i;

Vec words(int value) { return _mm256_set1_epi16(static_cast<short>(value)); }
Vec byte_pairs(int low, int high) { return words(high * 256 + (low & 255)); }
Vec load(const std::uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const Vec*>(from)); }
void store(std::uint8_t* to, Vec v) { _mm256_storeu_si256(reinterpret_cast<Vec*>(to), v); }

struct Rgb {
  Vec red, green, blue;
};

/// Half of the pixels as words: `y_b` has y below and b above, `y_r` likewise, `cb_cr` both without a sign.
Rgb convert(Vec y_b, Vec y_r, Vec cb_cr) {
  const Vec y = _mm256_and_si256(y_b, words(255));
  const Vec b = _mm256_srai_epi16(y_b, 8), r = _mm256_srai_epi16(y_r, 8);
  const Vec red = _mm256_add_epi16(_mm256_add_epi16(y, r), _mm256_mulhrs_epi16(r, words(13172)));
  const Vec blue = _mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(b, b)), _mm256_mulhrs_epi16(b, words(-7471)));
  const Vec upper = _mm256_add_epi16(_mm256_maddubs_epi16(cb_cr, byte_pairs(-88, 73)), words(2038));
  const Vec lower = _mm256_maddubs_epi16(cb_cr, byte_pairs(-26, 46));
  const Vec fraction = _mm256_srai_epi16(_mm256_add_epi16(upper, _mm256_srai_epi16(lower, 8)), 8);
  return {red, _mm256_add_epi16(_mm256_sub_epi16(y, r), fraction), blue};
}

}  // namespace

void ycc_to_rgb_avx2(std::uint8_t* const rgb[3], const std::uint8_t* const ycc[3], std::size_t n) {
  convert_row<32>(
      rgb, ycc, n,
      [](std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue, const std::uint8_t* y_row,
         const std::uint8_t* cb_row, const std::uint8_t* cr_row) {
        const Vec y = load(y_row), cb = load(cb_row), cr = load(cr_row);
        const Vec centre = _mm256_set1_epi8(-128);
        const Vec b = _mm256_xor_si256(cb, centre), r = _mm256_xor_si256(cr, centre);
        const Rgb low = convert(_mm256_unpacklo_epi8(y, b), _mm256_unpacklo_epi8(y, r), _mm256_unpacklo_epi8(cb, cr));
        const Rgb high = convert(_mm256_unpackhi_epi8(y, b), _mm256_unpackhi_epi8(y, r), _mm256_unpackhi_epi8(cb, cr));
        store(red, _mm256_packus_epi16(low.red, high.red));
        store(green, _mm256_packus_epi16(low.green, high.green));
        store(blue, _mm256_packus_epi16(low.blue, high.blue));
      });
}

}  // namespace drapps::kernel::jpeg
