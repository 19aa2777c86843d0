// The colours of ycc.h in 16 bits, for vectors of any width. Included by pixels_<level>.cc only; everything has
// internal linkage, since each compiles it for its own level.
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

#include "drapps/kernel/jpeg/ycc_rows.h"

namespace drapps::kernel::jpeg {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

template <class V>
struct Rgb {
  typename V::Vec red, green, blue;
};

/// Half of the pixels as words: `y_b` has y below and b above, `y_r` likewise, `cb_cr` both without a sign.
template <class V, class Vec = typename V::Vec>
Rgb<V> convert(Vec y_b, Vec y_r, Vec cb_cr) {
  const Vec y = V::both_of_bits(y_b, V::words(255));
  const Vec b = V::template shift_right16<8>(y_b), r = V::template shift_right16<8>(y_r);
  const Vec red = V::add16(V::add16(y, r), V::mul16_rounded(r, V::words(13172)));
  const Vec blue = V::add16(V::add16(y, V::add16(b, b)), V::mul16_rounded(b, V::words(-7471)));
  const Vec upper = V::add16(V::dot_bytes(cb_cr, V::template byte_pairs<-88, 73>()), V::words(2038));
  const Vec lower = V::dot_bytes(cb_cr, V::template byte_pairs<-26, 46>());
  const Vec fraction = V::template shift_right16<8>(V::add16(upper, V::template shift_right16<8>(lower)));
  return {red, V::add16(V::sub16(y, r), fraction), blue};
}

template <class V>
void ycc_to_rgb(std::uint8_t* const rgb[3], const std::uint8_t* const ycc[3], std::size_t n) {
  using Vec = typename V::Vec;
  convert_row<sizeof(Vec)>(rgb, ycc, n,
                           [](std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue, const std::uint8_t* y_row,
                              const std::uint8_t* cb_row, const std::uint8_t* cr_row) {
                             const Vec y = V::load_bytes(y_row), cb = V::load_bytes(cb_row), cr = V::load_bytes(cr_row);
                             const Vec b = V::exclusive_or(cb, V::bytes(-128)), r = V::exclusive_or(cr, V::bytes(-128));
                             const Rgb<V> low = convert<V>(V::low8(y, b), V::low8(y, r), V::low8(cb, cr));
                             const Rgb<V> high = convert<V>(V::high8(y, b), V::high8(y, r), V::high8(cb, cr));
                             V::store_bytes(red, V::pack_bytes(low.red, high.red));
                             V::store_bytes(green, V::pack_bytes(low.green, high.green));
                             V::store_bytes(blue, V::pack_bytes(low.blue, high.blue));
                           });
}

}  // namespace
}  // namespace drapps::kernel::jpeg
