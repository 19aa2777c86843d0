// The filters of upsample.h for vectors of any width. Included by pixels_<level>.cc only; everything has
// internal linkage, since each compiles it for its own level.
//
// In one direction averages of bytes suffice. With up(a, b) = (a + b + 1) / 2, which is vpavgb, and down(a, b) =
// (a + b) / 2 = 255 - up(255 - a, 255 - b), both rounded downwards:
//
//     (3 a + b + 1) / 4 = down(a, up(a, b))        (3 a + b + 2) / 4 = up(a, down(a, b))
//
// In two directions the sums of columns take 10 bits: pairs of bytes become words by vpmaddubsw.
#pragma once

#include "drapps/kernel/jpeg/upsample_rows.h"

namespace drapps::kernel::jpeg {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

/// V is the vector: see vector256.h for what it has to do.
template <class V>
struct Upsample {
  using Vec = typename V::Vec;
  static constexpr std::size_t kSamples = sizeof(Vec);

  /// `step(x)` for every vector of a row; the last one overlaps the one before it where n is no multiple.
  template <class Step>
  static void by_vectors(std::size_t n, Step step) {
    for (std::size_t x = 0; x + kSamples < n; x += kSamples) step(x);
    step(n - kSamples);
  }

  static Vec down(Vec a, Vec b) { return V::complement(V::average(V::complement(a), V::complement(b))); }
  static Vec quarter_below(Vec a, Vec b) { return down(a, V::average(a, b)); }  // (3 a + b + 1) / 4
  static Vec quarter_above(Vec a, Vec b) { return V::average(a, down(a, b)); }  // (3 a + b + 2) / 4

  static void across(std::uint8_t* out, const std::uint8_t* in, std::size_t n) {
    if (n < kSamples) return upsample_across(out, in, n);
    by_vectors(n, [=](std::size_t x) {
      const Vec here = V::load_bytes(in + x);
      const Vec left = quarter_below(here, V::load_bytes(in + x - 1));
      const Vec right = quarter_above(here, V::load_bytes(in + x + 1));
      V::store_two(out + 2 * x, V::low8(left, right), V::high8(left, right));
    });
  }

  static void down(std::uint8_t* out, const std::uint8_t* near, const std::uint8_t* far, std::size_t n, bool below) {
    if (n < kSamples) return upsample_down(out, near, far, n, below);
    by_vectors(n, [=](std::size_t x) {
      const Vec a = V::load_bytes(near + x), b = V::load_bytes(far + x);
      V::store_bytes(out + x, below ? quarter_above(a, b) : quarter_below(a, b));
    });
  }

  /// Two neighbouring outputs in each word, of the column sums to the left, here and to the right.
  static Vec both_of(Vec last, Vec here, Vec next) {
    const Vec three = V::add16(here, V::add16(here, here));
    const Vec left = V::template shift_right16<4>(V::add16(three, V::add16(last, V::words(8))));
    const Vec right = V::template shift_left16<4>(V::add16(three, V::add16(next, V::words(7))));
    return V::upper_bytes(right, left);
  }

  static void both(std::uint8_t* out, const std::uint8_t* near, const std::uint8_t* far, std::size_t n) {
    if (n < kSamples) return upsample_both(out, near, far, n);
    const Vec factors = V::template byte_pairs<3, 1>();
    by_vectors(n, [=](std::size_t x) {
      Vec low[3], high[3];
      for (std::size_t k = 0; k < 3; ++k) {
        const Vec a = V::load_bytes(near + x + k - 1), b = V::load_bytes(far + x + k - 1);
        low[k] = V::dot_bytes(V::low8(a, b), factors);
        high[k] = V::dot_bytes(V::high8(a, b), factors);
      }
      V::store_two(out + 2 * x, both_of(low[0], low[1], low[2]), both_of(high[0], high[1], high[2]));
    });
  }
};

}  // namespace
}  // namespace drapps::kernel::jpeg
