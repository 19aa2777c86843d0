// What the inverse transforms of all vector widths share. Included by pixels_<level>.cc only; everything has
// internal linkage, since each compiles it for its own level.
//
// The multiplications are of pairs: a 32-bit element holds two 16-bit numbers, and one instruction makes the sum of
// both products. So the frequencies travel in the pairs that the algorithm multiplies together, (4, 0), (2, 6), (7, 1)
// and (3, 5), through the whole transform:
//
// 1. Dequantise, and interleave the rows 4 and 0, 2 and 6, 7 and 1, 3 and 5: an element is a column. The columns go in
//    the order of the pairs too, 4 0 2 6 7 1 3 5.
// 2. Transform the columns (see idct.h for the method, pixels_portable.cc for the numbers); shift, and pack to 16 bits,
//    which saturates as it must. Neighbouring columns are pairs of the second pass already.
// 3. Transpose: pairs are elements of 32 bits, two steps instead of the three that single numbers take.
// 4. Transform the rows. The last shift is by 18 bits with rounding: the upper 16 bits are taken, and the other 2 go by
//    vpmulhrsw with 2^13, whose rounding is the same, floor((floor(x / 2^16) + 2) / 4) = floor((x + 2^17) / 2^18).
// 5. Saturate to bytes, and bring the pixels of each row together.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/jpeg/idct.h"

namespace drapps::kernel::jpeg {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

/// In which order the columns of a block lie in a vector.
constexpr std::size_t kColumns[8]{4, 0, 2, 6, 7, 1, 3, 5};

/// V is the vector: see vector256.h for what it has to do.
template <class V>
struct InverseDct {
  using Vec = typename V::Vec;

  /// What goes into one 1-D transform: elements of two frequencies each, the lower half named first.
  struct Pairs {
    Vec p40, p26, p71, p35;
  };

  /// Eight samples of 32 bits, not yet shifted. The first pass adds half of what it will shift by 11.
  template <bool kFirst>
  static void transform(Vec out[8], const Pairs& in) {
    // The upper halves become 0 + 4 and 0 - 4, in 16 bits; the lower ones are multiplied by 0.
    const Vec four = V::template shift_left32<16>(in.p40);
    const Vec scale = V::template pairs<0, 8192>();
    Vec sum = V::add32(in.p40, four), difference = V::sub32(in.p40, four);
    if constexpr (kFirst) {
      const Vec half = V::template pairs<1 << 10, 0>();
      sum = V::dot(half, sum, scale);
      difference = V::dot(half, difference, scale);
    } else {
      sum = V::dot(sum, scale);
      difference = V::dot(difference, scale);
    }
    Vec even[4];
    V::template plus_minus<10703, 4433>(even[0], even[3], sum, in.p26);
    V::template plus_minus<4433, -10704>(even[1], even[2], difference, in.p26);

    const Vec z34 = V::add16(in.p71, in.p35);
    const Vec shared3 = V::dot(z34, V::template pairs<-6436, 9633>());
    const Vec shared4 = V::dot(z34, V::template pairs<9633, 6437>());
    const Vec odd[4]{V::dot(shared4, in.p71, V::template pairs<-7373, 4926>()),
                     V::dot(shared3, in.p35, V::template pairs<4177, -20995>()),
                     V::dot(shared4, in.p35, V::template pairs<-20995, -4176>()),
                     V::dot(shared3, in.p71, V::template pairs<-4927, -7373>())};
    for (std::size_t k = 0; k < 4; ++k) {
      out[k] = V::add32(even[k], odd[k]);
      out[7 - k] = V::sub32(even[k], odd[k]);
    }
  }
};

}  // namespace
}  // namespace drapps::kernel::jpeg
