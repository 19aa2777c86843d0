// YCbCr to RGB in 16 bits, for vectors of any width. Included by pixels_avx2.cc and pixels_avx512.cc only; everything
// has internal linkage, since each compiles it for its own level.
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
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace drapps::kernel::jpeg {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

/// V is the vector: see pixels_avx2.cc for what it has to do.
template <class V>
struct YccToRgb {
  using Vec = typename V::Vec;
  static constexpr std::size_t kPixels = sizeof(Vec);

  struct Rgb {
    Vec red, green, blue;
  };

  /// Half of the pixels as words: `y_b` has y below and b above, `y_r` likewise, `cb_cr` both without a sign.
  static Rgb convert(Vec y_b, Vec y_r, Vec cb_cr) {
    const Vec y = V::and_bits(y_b, V::words(255));
    const Vec b = V::template shift_right16<8>(y_b), r = V::template shift_right16<8>(y_r);
    const Vec red = V::add16(V::add16(y, r), V::mul16_rounded(r, V::words(13172)));
    const Vec blue = V::add16(V::add16(y, V::add16(b, b)), V::mul16_rounded(b, V::words(-7471)));
    const Vec upper = V::add16(V::dot_bytes(cb_cr, V::template byte_pairs<-88, 73>()), V::words(2038));
    const Vec lower = V::dot_bytes(cb_cr, V::template byte_pairs<-26, 46>());
    const Vec fraction = V::template shift_right16<8>(V::add16(upper, V::template shift_right16<8>(lower)));
    return {red, V::add16(V::sub16(y, r), fraction), blue};
  }

  static void step(std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue, const std::uint8_t* y_row,
                   const std::uint8_t* cb_row, const std::uint8_t* cr_row) {
    const Vec y = V::load_bytes(y_row), cb = V::load_bytes(cb_row), cr = V::load_bytes(cr_row);
    const Vec b = V::xor_bits(cb, V::bytes(0x80)), r = V::xor_bits(cr, V::bytes(0x80));
    const Rgb low = convert(V::low8(y, b), V::low8(y, r), V::low8(cb, cr));
    const Rgb high = convert(V::high8(y, b), V::high8(y, r), V::high8(cb, cr));
    V::store_bytes(red, V::pack16_unsigned(low.red, high.red));
    V::store_bytes(green, V::pack16_unsigned(low.green, high.green));
    V::store_bytes(blue, V::pack16_unsigned(low.blue, high.blue));
  }

  static void run(std::uint8_t* const rgb[3], const std::uint8_t* const ycc[3], std::size_t n) {
    std::uint8_t *red = rgb[0], *green = rgb[1], *blue = rgb[2];
    const std::uint8_t *y = ycc[0], *cb = ycc[1], *cr = ycc[2];
    if (n >= kPixels) {
      for (std::size_t x = 0; x + kPixels < n; x += kPixels) {
        step(red + x, green + x, blue + x, y + x, cb + x, cr + x);
      }
      // The last step overlaps the one before it where n is no multiple.
      const std::size_t x = n - kPixels;
      return step(red + x, green + x, blue + x, y + x, cb + x, cr + x);
    }
    if (n == 0) return;
    alignas(64) std::uint8_t few[6][kPixels]{};
    std::memcpy(few[0], y, n);
    std::memcpy(few[1], cb, n);
    std::memcpy(few[2], cr, n);
    step(few[3], few[4], few[5], few[0], few[1], few[2]);
    std::memcpy(red, few[3], n);
    std::memcpy(green, few[4], n);
    std::memcpy(blue, few[5], n);
  }
};

}  // namespace
}  // namespace drapps::kernel::jpeg
