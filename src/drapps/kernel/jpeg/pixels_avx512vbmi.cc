// Four blocks and 64 pixels at a time. Two things are better here than with 32 bytes: vpdpwssd adds to a sum in the
// instruction that multiplies, and words and bytes move anywhere by one shuffle of two vectors.
#include <algorithm>

#include "drapps/kernel/jpeg/idct_vector.h"
#include "drapps/kernel/jpeg/pixel_kernels.h"
#include "drapps/kernel/jpeg/upsample_vector.h"
#include "drapps/kernel/jpeg/vector512.h"
#include "drapps/kernel/vector_table.h"

namespace drapps::kernel::jpeg {
namespace {

using Words = VectorTable<std::int16_t, 32>;
using Bytes = VectorTable<std::uint8_t, 64>;

/// Word i of two rows of two blocks as pairs, from vectors that hold two rows of both: the first or the second of each.
constexpr Words row_pairs(std::size_t row) {
  return table_by<std::int16_t, 32>(
      [row](std::size_t i) { return i / 16 * 16 + row * 8 + kColumns[i % 16 / 2] + i % 2 * 32; });
}
constexpr Words kFirstRows = row_pairs(0), kSecondRows = row_pairs(1);

/// The upper halves of two vectors of 32 bits, in turn.
constexpr Words kUpperWords = table_by<std::int16_t, 32>([](std::size_t i) { return i / 2 * 2 + 1 + i % 2 * 32; });

/// Byte i of rows y and y + 1, 32 bytes each, of four blocks. A block has its bytes in a lane, (x / 2 % 2, y, x % 2);
/// x / 4 chooses the vector.
constexpr Bytes pixel_rows(std::size_t y) {
  return table_by<std::uint8_t, 64>([y](std::size_t i) {
    const std::size_t x = i % 8, block = i % 32 / 8;
    return x / 4 * 64 + block * 16 + x / 2 % 2 * 8 + (y + i / 32) * 2 + x % 2;
  });
}
constexpr Bytes kRows01 = pixel_rows(0), kRows23 = pixel_rows(2);

struct VbmiVector : Vector512 {
  static __m256i rows_of(const std::int16_t* from) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(from)); }
  /// Two neighbouring rows of a block, then those of the next.
  static Vec load_rows(const std::int16_t* from) {
    return _mm512_inserti64x4(_mm512_castsi256_si512(rows_of(from)), rows_of(from + kBlock), 1);
  }
  static Vec repeat_rows(const std::int16_t* from) { return _mm512_broadcast_i64x4(rows_of(from)); }
  /// Collects numbers of more than 14 bits: with 8192 added, they have one of the two uppermost bits.
  static Vec with_long_of(Vec seen, Vec v) { return _mm512_or_si512(seen, _mm512_add_epi16(v, words(8192))); }
  /// Whether with_long_of() has collected any such number in the first of the two rows of any block.
  static bool any_long(Vec seen) { return _mm512_mask_test_epi16_mask(0x00FF00FF, seen, words(-16384)) != 0; }
  static Vec pick_words(Vec a, const Words& index, Vec b) { return _mm512_permutex2var_epi16(a, load(index.at), b); }
  /// Lanes of 128 bits, those of even or of odd number, of both vectors.
  static Vec even_lanes(Vec a, Vec b) { return _mm512_shuffle_i64x2(a, b, 0x88); }
  static Vec odd_lanes(Vec a, Vec b) { return _mm512_shuffle_i64x2(a, b, 0xDD); }
  /// Elements of 32 bits, those of even or of odd number, of both vectors, within each lane.
  static Vec even32(Vec a, Vec b) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0x88));
  }
  static Vec odd32(Vec a, Vec b) {
    return _mm512_castps_si512(_mm512_shuffle_ps(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), 0xDD));
  }

  using Vector512::dot;
  static Vec dot(Vec sum, Vec a, Vec b) { return _mm512_dpwssd_epi32(sum, a, b); }
  template <int kLow, int kHigh>
  static void plus_minus(Vec& plus, Vec& minus, Vec sum, Vec a) {
    plus = dot(sum, a, pairs<kLow, kHigh>());
    minus = dot(sum, a, pairs<-kLow, -kHigh>());
  }

  static void store_rows(std::uint8_t* out, std::ptrdiff_t stride, Vec left, Vec right) {
    const Vec centre = _mm512_set1_epi8(-128);
    left = _mm512_xor_si512(left, centre);
    right = _mm512_xor_si512(right, centre);
    const Vec rows01 = _mm512_permutex2var_epi8(left, _mm512_load_si512(kRows01.at), right);
    const Vec rows23 = _mm512_permutex2var_epi8(left, _mm512_load_si512(kRows23.at), right);
    store_row(out, _mm512_castsi512_si256(rows01));
    store_row(out + stride, _mm512_extracti64x4_epi64(rows01, 1));
    store_row(out + 2 * stride, _mm512_castsi512_si256(rows23));
    store_row(out + 3 * stride, _mm512_extracti64x4_epi64(rows23, 1));
  }
  static void store_row(std::uint8_t* out, __m256i row) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), row); }
};

using V = VbmiVector;
using Vec = V::Vec;
using Dct = InverseDct<V>;

/// Two blocks after the first pass: pairs [of rows 0 … 3 or 4 … 7][of columns 4 0 and 7 1, or 2 6 and 3 5]. Lanes are
/// (block, which of both), elements rows.
struct BlockColumns {
  Vec at[2][2];
};

/// @param quant  two rows each, twice
/// @param seen   rows 0 and 1 are added to what it has collected
[[gnu::always_inline]] inline BlockColumns first_pass(const std::int16_t* blocks, const Vec quant[4], Vec& seen) {
  Vec rows[4];  // two rows each
  for (std::size_t k = 0; k < 4; ++k) rows[k] = V::mul16(V::load_rows(blocks + 16 * k), quant[k]);
  seen = V::with_long_of(seen, rows[0]);
  const Dct::Pairs pairs{V::pick_words(rows[2], kFirstRows, rows[0]), V::pick_words(rows[1], kFirstRows, rows[3]),
                         V::pick_words(rows[3], kSecondRows, rows[0]), V::pick_words(rows[1], kSecondRows, rows[2])};
  Vec samples[8], packed[4];
  Dct::transform<true>(samples, pairs);
  for (std::size_t k = 0; k < 4; ++k) {
    packed[k] = V::pack32(V::shift_right32<11>(samples[2 * k]), V::shift_right32<11>(samples[2 * k + 1]));
  }
  return {{{V::even32(packed[0], packed[1]), V::odd32(packed[0], packed[1])},
           {V::even32(packed[2], packed[3]), V::odd32(packed[2], packed[3])}}};
}

/// Rows 0 … 3 or 4 … 7 of four blocks, of which a and b hold two each.
template <std::size_t kHalf>
[[gnu::always_inline]] inline void second_pass(std::uint8_t* out, std::ptrdiff_t stride, const BlockColumns& a,
                                               const BlockColumns& b) {
  const Vec *left = a.at[kHalf], *right = b.at[kHalf];
  const Dct::Pairs rows{V::even_lanes(left[0], right[0]), V::even_lanes(left[1], right[1]),
                        V::odd_lanes(left[0], right[0]), V::odd_lanes(left[1], right[1])};
  Vec samples[8], words[4];  // words of four rows: two neighbouring pixels each
  Dct::transform<false>(samples, rows);
  for (std::size_t k = 0; k < 4; ++k) {
    words[k] = V::mul16_rounded(V::pick_words(samples[2 * k], kUpperWords, samples[2 * k + 1]), V::words(1 << 13));
  }
  V::store_rows(out + 4 * static_cast<std::ptrdiff_t>(kHalf) * stride, stride, V::pack16(words[0], words[1]),
                V::pack16(words[2], words[3]));
}

/// The first passes of a group go before the second ones of its predecessor: one group alone is a chain that leaves
/// half of the processor waiting. For the same reason the loop has no branches: numbers of row 0 that are too long,
/// which no encoder makes of pixels, are noticed at the end, and then the AVX2 kernel, which takes care of them, does
/// it again.
void inverse_dct(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* blocks, std::size_t count,
                 const std::int16_t* quant) {
  if (count < 4) return kPixelsAvx2.inverse_dct(out, stride, blocks, count, quant);
  Vec factors[4];
  for (std::size_t k = 0; k < 4; ++k) factors[k] = V::repeat_rows(quant + 16 * k);
  Vec seen = _mm512_setzero_si512();
  BlockColumns a = first_pass(blocks, factors, seen), b = first_pass(blocks + 2 * kBlock, factors, seen);
  std::size_t at = 0;
  while (at + 4 < count) {
    // The last group overlaps the one before it where the count is no multiple.
    const std::size_t next = std::min(at + 4, count - 4);
    const BlockColumns next_a = first_pass(blocks + kBlock * next, factors, seen);
    const BlockColumns next_b = first_pass(blocks + kBlock * (next + 2), factors, seen);
    second_pass<0>(out + 8 * at, stride, a, b);
    second_pass<1>(out + 8 * at, stride, a, b);
    a = next_a;
    b = next_b;
    at = next;
  }
  second_pass<0>(out + 8 * at, stride, a, b);
  second_pass<1>(out + 8 * at, stride, a, b);
  if (V::any_long(seen)) [[unlikely]]
    kPixelsAvx2.inverse_dct(out, stride, blocks, count, quant);
}

}  // namespace

const PixelKernels kPixelsAvx512Vbmi{inverse_dct, Upsample<Vector512>::across, Upsample<Vector512>::down,
                                     Upsample<Vector512>::both, ycc_to_rgb_avx512vbmi};

}  // namespace drapps::kernel::jpeg
