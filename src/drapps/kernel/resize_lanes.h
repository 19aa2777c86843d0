// Exact resizing with 16-bit multiplications, for vectors of any width. Included by resize_avx2.cc and resize_avx512.cc
// only; everything has internal linkage, since each compiles it for its own level.
//
// 1. A weight of 22 fraction bits is a * 2^16 + b: b has 16 bits with a sign, a has 8. With A and B the sums of the
//    products of either digit, (A * 2^16 + B + 2^21) >> 22, what the reference computes, is (A + (B >> 16) + 32) >> 6,
//    all rounded downwards; so behind the sum B, words suffice. The last step is vpmulhrsw by 2^9.
// 2. The positive weights of an output sum to at most 1.21 (bicubic; 1 for bilinear). So a is at most 77, two products
//    of a digit a fit in the saturating words of vpmaddubsw, and A + (B >> 16) + 32 fits in a word; on the way there
//    words may wrap.
// 3. Four source bytes of an output, its taps, stand in an element of 32 bits. vpmaddubsw multiplies them by their
//    digits a. Taps 0 and 2, and 1 and 3, become words by a mask and by a shift, and vpmaddwd multiplies by b.
// 4. The horizontal pass makes two vectors of elements at a time. vpshufb picks the bytes for the four outputs of each
//    lane from a window of 16 source bytes. The next four taps are picked by the same indices from a window four bytes
//    on.
// 5. Where four outputs span more than one window (shrinking by 4 and more) an output has many taps, and the taps
//    themselves fill the vectors.
// 6. The vertical pass interleaves four rows byte by byte, so that the four taps of one column stand together.
// 7. Two taps, all that bilinear enlarging has, are words from the start.
//
// Narrow weights are one digit of 16 bits: B alone, with its own number of fraction bits.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "drapps/kernel/resize_kernels.h"

namespace drapps::kernel {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

inline std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }
inline __m128i load16(const void* from) { return _mm_loadu_si128(static_cast<const __m128i*>(from)); }

/// Four weights of an output, as 32 bits each.
struct Digits {
  __m128i a, b;  // b without what is above its 16 bits
};

inline Digits split(const Axis& axis, __m128i weights) {
  const __m128i lower = _mm_set1_epi32(0xFFFF);
  if (axis.narrow()) {
    const __m128i b = _mm_srl_epi32(weights, _mm_cvtsi32_si128(kWeightBits - axis.bits));
    return {_mm_setzero_si128(), _mm_and_si128(b, lower)};
  }
  return {_mm_srai_epi32(_mm_add_epi32(weights, _mm_set1_epi32(0x8000)), 16), _mm_and_si128(weights, lower)};
}

/// `words` has 16 bits in each element of 32: joins those of the first two to one element.
inline __m128i two(__m128i words) { return _mm_or_si128(words, _mm_slli_epi32(_mm_srli_si128(words, 4), 16)); }
/// `words` has 16 bits in each element of 32: joins those of the first and the third to one element, and those of the
/// second and the fourth to the next.
inline __m128i two_by_two(__m128i words) { return _mm_or_si128(words, _mm_slli_epi32(_mm_srli_si128(words, 8), 16)); }

inline __m128i four_weights(const Axis& axis, std::int32_t x, std::int32_t tap) {
  if (x >= axis.out) return _mm_setzero_si128();
  return load16(axis.weights + static_cast<std::ptrdiff_t>(x) * axis.stride + tap);
}

/// V is the vector: see resize_avx2.cc for what it has to do.
template <class V>
struct LaneResize {
  using Vec = typename V::Vec;
  static constexpr std::ptrdiff_t kVector = sizeof(Vec);
  static constexpr std::int32_t kLanes = kVector / 16;
  static constexpr std::int32_t kHalf = kVector / 4;  // outputs of a vector
  static constexpr std::int32_t kGroup = 2 * kHalf;

  /// The start of a group: outputs that are made together. What V needs of their places follows, then indices of bytes
  /// for both halves, then the digits: for each four taps by half a vector of a unless narrow, and two of b; for two
  /// taps one of a and one of b.
  struct AxisHead {
    std::int32_t quads;  // of taps; 0 for two taps
  };
  static constexpr std::ptrdiff_t kPlaceAt = kVector;
  static constexpr std::ptrdiff_t kIndexAt = kPlaceAt + V::kPlaceBytes;
  static constexpr std::ptrdiff_t kDigitsAt = kIndexAt + 2 * kVector;

  static std::ptrdiff_t quad_size(const Axis& axis) { return (axis.narrow() ? 4 : 6) * kVector; }
  static std::ptrdiff_t group_size(const Axis& axis) { return kDigitsAt + axis.stride / 4 * quad_size(axis); }
  static std::int32_t groups_of(const Axis& axis) { return (axis.out + kGroup - 1) / kGroup; }
  /// 16 bytes for four taps of a row: a of the first two twice, a of the others twice, b of taps 0 and 2, of 1 and 3.
  /// Of at most two taps b is the third element.
  static std::size_t vertical_size(const Axis& axis) { return static_cast<std::size_t>(axis.out) * axis.stride * 4; }

  static std::int32_t most_taps(const Axis& axis, std::int32_t x0) {
    std::int32_t taps = 0;
    for (std::int32_t x = x0; x < smaller(x0 + kGroup, axis.out); ++x) {
      taps = axis.count[x] > taps ? axis.count[x] : taps;
    }
    return taps;
  }

  static void store_digits(std::uint8_t* at, const Axis& axis, const Digits of[4], bool pairs) {
    const auto put = [&](std::ptrdiff_t vector, __m128i four) {
      _mm_store_si128(reinterpret_cast<__m128i*>(at + vector * kVector), four);
    };
    const auto first_of = [](__m128i v0, __m128i v1, __m128i v2, __m128i v3) {
      return _mm_unpacklo_epi64(_mm_unpacklo_epi32(v0, v1), _mm_unpacklo_epi32(v2, v3));
    };
    const auto second_of = [](__m128i v0, __m128i v1, __m128i v2, __m128i v3) {
      return _mm_unpackhi_epi64(_mm_unpacklo_epi32(v0, v1), _mm_unpacklo_epi32(v2, v3));
    };
    const std::ptrdiff_t next = axis.narrow() ? 0 : 2;
    if (pairs) {
      const auto low = [&of](std::size_t i) { return two(of[i].b); };
      put(next, first_of(low(0), low(1), low(2), low(3)));
      if (axis.narrow()) return;
      const auto high = [&of](std::size_t i) { return two(_mm_and_si128(of[i].a, _mm_set1_epi32(0xFFFF))); };
      return put(0, first_of(high(0), high(1), high(2), high(3)));
    }
    const __m128i low[4]{two_by_two(of[0].b), two_by_two(of[1].b), two_by_two(of[2].b), two_by_two(of[3].b)};
    put(next, first_of(low[0], low[1], low[2], low[3]));
    put(next + 2, second_of(low[0], low[1], low[2], low[3]));
    if (axis.narrow()) return;
    put(0, _mm_packs_epi16(_mm_packs_epi32(of[0].a, of[1].a), _mm_packs_epi32(of[2].a, of[3].a)));
  }

  static void pack_group(std::uint8_t* packed, const Axis& axis, std::int32_t x0) {
    const std::int32_t taps = most_taps(axis, x0), last = axis.out - 1;
    const bool pairs = taps <= 2;
    reinterpret_cast<AxisHead*>(packed)->quads = pairs ? 0 : (taps + 3) / 4;
    std::uint8_t* const index = packed + kIndexAt;
    for (std::int32_t half = 0; half < 2; ++half) {
      for (std::int32_t lane = 0; lane < kLanes; ++lane) {
        const std::int32_t x = x0 + V::output_of(half, lane);
        const std::int32_t window = V::place(packed + kPlaceAt, axis, x0, half, lane);
        for (std::int32_t i = 0; i < 4; ++i) {
          const auto from = static_cast<std::uint32_t>(axis.first[smaller(x + i, last)] - window);
          // 0x80 gives the zero of a word's upper byte.
          const std::uint32_t bytes = pairs ? 0x80008000U | from | (from + 1) << 16 : from * 0x01010101U + 0x03020100U;
          std::memcpy(index + half * kVector + 16 * lane + 4 * i, &bytes, 4);
        }
        std::uint8_t* digits = packed + kDigitsAt + half * kVector + 16 * lane;
        for (std::int32_t tap = 0; tap < taps; tap += 4, digits += quad_size(axis)) {
          Digits of[4];
          for (std::int32_t i = 0; i < 4; ++i) of[i] = split(axis, four_weights(axis, x + i, tap));
          store_digits(digits, axis, of, pairs);
        }
      }
    }
  }

  static void pack_horizontal(std::uint8_t* packed, const Axis& axis) {
    for (std::int32_t x = 0; x < axis.out; x += kGroup, packed += group_size(axis)) pack_group(packed, axis, x);
  }

  static void pack_vertical(std::uint8_t* packed, const Axis& axis) {
    const __m128i doubled = _mm_setr_epi8(0, 1, 0, 1, 2, 3, 2, 3, 0, 0, 0, 0, 0, 0, 0, 0);
    for (std::int32_t y = 0; y < axis.out; ++y) {
      for (std::int32_t tap = 0; tap < axis.stride; tap += 4, packed += 16) {
        const Digits of = split(axis, four_weights(axis, y, tap));
        const __m128i a = _mm_packs_epi16(_mm_packs_epi32(of.a, of.a), of.a);
        const __m128i b = axis.count[y] <= 2 ? two(of.b) : two_by_two(of.b);
        _mm_store_si128(reinterpret_cast<__m128i*>(packed), _mm_unpacklo_epi64(_mm_shuffle_epi8(a, doubled), b));
      }
    }
  }

  /// How sums of narrow weights are rounded and shifted.
  struct Scale {
    Vec half;  // for narrow weights
    __m128i bits;
    explicit Scale(const Axis& axis) : half(V::set32(1 << (axis.bits - 1))), bits(_mm_cvtsi32_si128(axis.bits)) {}
  };

  static Vec even_taps(Vec bytes) { return V::both_of_bits(bytes, V::set32(0x00FF00FF)); }
  static Vec odd_taps(Vec bytes) { return V::template shift_right16<8>(bytes); }
  /// The sum over four taps of digits b.
  static Vec low_of(Vec bytes, Vec even, Vec odd) {
    return V::add32(V::dot(even_taps(bytes), even), V::dot(odd_taps(bytes), odd));
  }
  static Vec upper_words(Vec first, Vec second) {
    return V::pack32(V::template shift_right32<16>(first), V::template shift_right32<16>(second));
  }
  /// Words of A + (B >> 16) to bytes.
  static Vec rounded(Vec first, Vec second) {
    const Vec scale = V::set16(1 << 9);
    return V::pack16(V::dot_rounded(first, scale), V::dot_rounded(second, scale));
  }
  /// Sums of narrow weights to words.
  static Vec scaled(Vec first, Vec second, const Scale& scale) {
    return V::pack32(V::shift_right32(V::add32(first, scale.half), scale.bits),
                     V::shift_right32(V::add32(second, scale.half), scale.bits));
  }

  /// The sum of a half, in the upper word of each element unless narrow. kQuads is 0 for two taps, -1 for any number.
  template <bool kNarrow, int kQuads>
  static Vec sum_of(const std::uint8_t* row, const typename V::SourceWindow& window, const std::uint8_t* packed,
                    std::int32_t half) {
    const Vec index = V::load(packed + kIndexAt + half * kVector);
    const std::uint8_t* digits = packed + kDigitsAt + half * kVector;
    constexpr std::ptrdiff_t kPitch = 2 * kVector;
    constexpr std::ptrdiff_t kLow = kNarrow ? 0 : kPitch;
    if constexpr (kQuads == 0) {
      const Vec taps = V::pick(window.at(row), index);
      const Vec low = V::dot(taps, V::load(digits + kLow));
      if constexpr (kNarrow) return low;
      return V::add32(low, V::template shift_left32<16>(V::dot(taps, V::load(digits))));
    } else {
      const std::int32_t quads = kQuads > 0 ? kQuads : reinterpret_cast<const AxisHead*>(packed)->quads;
      Vec low = V::set32(0), high = low;
      for (std::int32_t j = 0; j < quads; ++j, digits += kLow + 2 * kPitch) {
        const Vec taps = V::pick(window.at(row + 4 * j), index);
        low = V::add32(low, low_of(taps, V::load(digits + kLow), V::load(digits + kLow + kPitch)));
        if constexpr (!kNarrow) high = V::add16(high, V::dot_bytes(taps, V::load(digits)));
      }
      if constexpr (kNarrow) return low;
      return V::add16(V::add16(low, high), V::template shift_left32<16>(high));
    }
  }

  /// One group in a block of rows.
  template <bool kNarrow, int kQuads>
  static void block(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const std::uint8_t* packed, std::int32_t lanes,
                    const Scale& scale) {
    const typename V::SourceWindow first(packed + kPlaceAt, 0), second(packed + kPlaceAt, 1);
    const std::uint8_t* row = in.data;
    for (std::int32_t y = 0; y < rows; ++y, row += in.stride) {
      const Vec low = sum_of<kNarrow, kQuads>(row, first, packed, 0);
      const Vec high = sum_of<kNarrow, kQuads>(row, second, packed, 1);
      Vec bytes;
      if constexpr (kNarrow) {
        const Vec words = scaled(low, high, scale);
        bytes = V::pack16(words, words);
      } else {
        const Vec words = V::dot_rounded(upper_words(low, high), V::set16(1 << 9));
        bytes = V::pack16(words, words);
      }
      V::store_group(out.data + y * out.stride, bytes, lanes);
    }
  }

  template <bool kNarrow>
  static void any_block(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const std::uint8_t* packed,
                        std::int32_t lanes, const Scale& scale) {
    switch (reinterpret_cast<const AxisHead*>(packed)->quads) {
      case 0: return block<kNarrow, 0>(out, in, rows, packed, lanes, scale);
      case 1: return block<kNarrow, 1>(out, in, rows, packed, lanes, scale);
      case 2: return block<kNarrow, 2>(out, in, rows, packed, lanes, scale);
      default: return block<kNarrow, -1>(out, in, rows, packed, lanes, scale);
    }
  }

  template <bool kNarrow>
  static void horizontal_of(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const Axis& axis,
                            const std::uint8_t* packed) {
    // Enough rows to pay for loading the weights, few enough for their pixels to stay in the first-level cache.
    constexpr std::int32_t kBlock = 16;
    const Scale scale(axis);
    for (std::int32_t y = 0; y < rows; y += kBlock) {
      const std::uint8_t* group = packed;
      for (std::int32_t x = 0; x < axis.out; x += kGroup, group += group_size(axis)) {
        any_block<kNarrow>({out.data + y * out.stride + x, out.stride}, {in.data + y * in.stride, in.stride},
                           smaller(kBlock, rows - y), group, smaller(kGroup, axis.out - x), scale);
      }
    }
  }

  /// The horizontal pass of a plan without long taps.
  static void horizontal(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const Axis& axis,
                         const std::uint8_t* packed) {
    return axis.narrow() ? horizontal_of<true>(out, in, rows, axis, packed)
                         : horizontal_of<false>(out, in, rows, axis, packed);
  }

  /// The digits of four taps of a row.
  struct RowDigits {
    Vec a01, a23, even, odd;
    explicit RowDigits(const std::uint8_t* at)
        : a01(V::repeat32(at)), a23(V::repeat32(at + 4)), even(V::repeat32(at + 8)), odd(V::repeat32(at + 12)) {}
  };

  /// Two vectors of A as words, and four of B; those of narrow weights have no A.
  struct ColumnSums {
    Vec high[2], low[4];
  };

  template <bool kNarrow>
  static ColumnSums quad_sums(const std::uint8_t* const rows[4], std::int32_t x, const RowDigits& digits) {
    const Vec r0 = V::load_any(rows[0] + x), r1 = V::load_any(rows[1] + x);
    const Vec r2 = V::load_any(rows[2] + x), r3 = V::load_any(rows[3] + x);
    const Vec low01 = V::low8(r0, r1), high01 = V::high8(r0, r1), low23 = V::low8(r2, r3), high23 = V::high8(r2, r3);
    const Vec taps[4]{V::low16(low01, low23), V::high16(low01, low23), V::low16(high01, high23),
                      V::high16(high01, high23)};
    ColumnSums sums;
    for (std::size_t k = 0; k < 4; ++k) sums.low[k] = low_of(taps[k], digits.even, digits.odd);
    if constexpr (!kNarrow) {
      sums.high[0] = V::add16(V::dot_bytes(low01, digits.a01), V::dot_bytes(low23, digits.a23));
      sums.high[1] = V::add16(V::dot_bytes(high01, digits.a01), V::dot_bytes(high23, digits.a23));
    }
    return sums;
  }

  template <bool kNarrow>
  static ColumnSums pair_sums(const std::uint8_t* const rows[2], std::int32_t x, const RowDigits& digits) {
    const Vec r0 = V::load_any(rows[0] + x), r1 = V::load_any(rows[1] + x), zero = V::set32(0);
    const Vec left = V::low8(r0, r1), right = V::high8(r0, r1);
    ColumnSums sums;
    sums.low[0] = V::dot(V::low8(left, zero), digits.even);
    sums.low[1] = V::dot(V::high8(left, zero), digits.even);
    sums.low[2] = V::dot(V::low8(right, zero), digits.even);
    sums.low[3] = V::dot(V::high8(right, zero), digits.even);
    if constexpr (!kNarrow) {
      sums.high[0] = V::dot_bytes(left, digits.a01);
      sums.high[1] = V::dot_bytes(right, digits.a01);
    }
    return sums;
  }

  template <bool kNarrow>
  static void add(ColumnSums& sums, const ColumnSums& more) {
    for (std::size_t k = 0; k < 4; ++k) sums.low[k] = V::add32(sums.low[k], more.low[k]);
    if constexpr (!kNarrow) {
      for (std::size_t k = 0; k < 2; ++k) sums.high[k] = V::add16(sums.high[k], more.high[k]);
    }
  }

  /// Packing undoes the order of the unpacking, and its saturation is the clipping.
  template <bool kNarrow>
  static void store_columns(std::uint8_t* target, const ColumnSums& sums, std::int32_t left, const Scale& scale) {
    if constexpr (kNarrow) {
      V::store(target, V::pack16(scaled(sums.low[0], sums.low[1], scale), scaled(sums.low[2], sums.low[3], scale)),
               left);
    } else {
      V::store(target,
               rounded(V::add16(sums.high[0], upper_words(sums.low[0], sums.low[1])),
                       V::add16(sums.high[1], upper_words(sums.low[2], sums.low[3]))),
               left);
    }
  }

  template <bool kNarrow>
  static void row(std::uint8_t* target, ConstPlaneRows source, std::int32_t taps, std::int32_t width,
                  const std::uint8_t* packed, const Scale& scale) {
    const auto rows_from = [&](const std::uint8_t* rows[4], std::int32_t t) {
      for (std::int32_t k = 0; k < 4; ++k) rows[k] = source.data + smaller(t + k, taps - 1) * source.stride;
    };
    const std::uint8_t* rows[4];
    rows_from(rows, 0);
    const RowDigits digits(packed);
    if (taps <= 2) {
      for (std::int32_t x = 0; x < width; x += kVector) {
        store_columns<kNarrow>(target + x, pair_sums<kNarrow>(rows, x, digits), width - x, scale);
      }
    } else if (taps <= 4) {
      for (std::int32_t x = 0; x < width; x += kVector) {
        store_columns<kNarrow>(target + x, quad_sums<kNarrow>(rows, x, digits), width - x, scale);
      }
    } else {
      for (std::int32_t x = 0; x < width; x += kVector) {
        rows_from(rows, 0);
        ColumnSums sums = quad_sums<kNarrow>(rows, x, digits);
        for (std::int32_t t = 4; t < taps; t += 4) {
          rows_from(rows, t);
          add<kNarrow>(sums, quad_sums<kNarrow>(rows, x, RowDigits(packed + 4 * t)));
        }
        store_columns<kNarrow>(target + x, sums, width - x, scale);
      }
    }
  }

  template <bool kNarrow>
  static void vertical_of(PlaneRows out, ConstPlaneRows in, std::int32_t width, const Axis& axis,
                          const std::uint8_t* packed) {
    const Scale scale(axis);
    for (std::int32_t y = 0; y < axis.out; ++y, packed += 4 * axis.stride) {
      row<kNarrow>(out.data + y * out.stride, {in.data + axis.first[y] * in.stride, in.stride}, axis.count[y], width,
                   packed, scale);
    }
  }

  static void vertical(PlaneRows out, ConstPlaneRows in, std::int32_t width, const Axis& axis,
                       const std::uint8_t* packed) {
    return axis.narrow() ? vertical_of<true>(out, in, width, axis, packed)
                         : vertical_of<false>(out, in, width, axis, packed);
  }
};

}  // namespace
}  // namespace drapps::kernel
