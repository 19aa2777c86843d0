// 256 bits as the templates idct_lanes.h, upsample_vector.h and ycc_words.h want them. Included by *_<level>.cc only;
// everything has internal linkage, since each compiles it for its own level.
#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/jpeg/idct.h"

namespace drapps::kernel::jpeg {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

struct Vector256 {
  using Vec = __m256i;
  static constexpr std::size_t kBlocks = 2;  // a lane each

  static __m128i row_of(const std::int16_t* from) { return _mm_load_si128(reinterpret_cast<const __m128i*>(from)); }
  /// Words of each lane in the order of kColumns.
  static Vec ordered(Vec v) {
    const __m128i order = _mm_setr_epi8(8, 9, 0, 1, 4, 5, 12, 13, 14, 15, 2, 3, 6, 7, 10, 11);
    return _mm256_shuffle_epi8(v, _mm256_broadcastsi128_si256(order));
  }

  /// Each row of the first block, and the same row of the next.
  static void dequantise(Vec rows[8], const std::int16_t* blocks, const std::int16_t* quant) {
    for (std::size_t v = 0; v < 8; ++v, blocks += 8, quant += 8) {
      const Vec both = _mm256_inserti128_si256(_mm256_castsi128_si256(row_of(blocks)), row_of(blocks + kBlock), 1);
      rows[v] = mul16(both, _mm256_broadcastsi128_si256(row_of(quant)));
    }
  }
  static Vec load(const std::int16_t* from) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(from)); }
  static void store(std::int16_t* to, Vec v) { _mm256_store_si256(reinterpret_cast<__m256i*>(to), v); }

  static bool any_beyond_14_bits(Vec v) {
    const Vec cut = _mm256_srai_epi16(_mm256_slli_epi16(v, 2), 2);
    return _mm256_movemask_epi8(_mm256_cmpeq_epi16(cut, v)) != -1;
  }
  /// Two rows as pairs, in two times four columns.
  static void interleave(Vec& first, Vec& last, Vec a, Vec b) {
    a = ordered(a);
    b = ordered(b);
    first = _mm256_unpacklo_epi16(a, b);
    last = _mm256_unpackhi_epi16(a, b);
  }

  template <int kLow, int kHigh>
  static Vec pairs() {
    return _mm256_set1_epi32(
        static_cast<int>(static_cast<unsigned>(kHigh) << 16 | (static_cast<unsigned>(kLow) & 0xFFFF)));
  }
  /// The upper 16 bits of each 32 of one vector, the lower of the other.
  static Vec upper_words(Vec upper, Vec lower) { return _mm256_blend_epi16(lower, upper, 0xAA); }
  template <int kBits>
  static Vec shift_left32(Vec v) {
    return _mm256_slli_epi32(v, kBits);
  }
  template <int kBits>
  static Vec shift_right32(Vec v) {
    return _mm256_srai_epi32(v, kBits);
  }
  template <int kBits>
  static Vec shift_right32_logical(Vec v) {
    return _mm256_srli_epi32(v, kBits);
  }
  static Vec add16(Vec a, Vec b) { return _mm256_add_epi16(a, b); }
  static Vec add32(Vec a, Vec b) { return _mm256_add_epi32(a, b); }
  static Vec sub32(Vec a, Vec b) { return _mm256_sub_epi32(a, b); }
  static Vec mul16(Vec a, Vec b) { return _mm256_mullo_epi16(a, b); }
  static Vec mul16_rounded(Vec a, Vec b) { return _mm256_mulhrs_epi16(a, b); }
  /// The sum of both products of each pair, added to `sum` where there is one.
  static Vec dot(Vec a, Vec b) { return _mm256_madd_epi16(a, b); }
  static Vec dot(Vec sum, Vec a, Vec b) { return _mm256_add_epi32(sum, dot(a, b)); }
  template <int kLow, int kHigh>
  static void plus_minus(Vec& plus, Vec& minus, Vec sum, Vec a) {
    const Vec product = dot(a, pairs<kLow, kHigh>());
    plus = add32(sum, product);
    minus = sub32(sum, product);
  }
  static Vec pack32(Vec a, Vec b) { return _mm256_packs_epi32(a, b); }
  static Vec sub16(Vec a, Vec b) { return _mm256_sub_epi16(a, b); }
  static Vec pack16(Vec a, Vec b) { return _mm256_packs_epi16(a, b); }
  static Vec low32(Vec a, Vec b) { return _mm256_unpacklo_epi32(a, b); }
  static Vec high32(Vec a, Vec b) { return _mm256_unpackhi_epi32(a, b); }
  static Vec low64(Vec a, Vec b) { return _mm256_unpacklo_epi64(a, b); }
  static Vec high64(Vec a, Vec b) { return _mm256_unpackhi_epi64(a, b); }

  /// Four rows of both blocks, from the left and the right half of each. A lane has its signed bytes in the order
  /// (x / 2 % 2, y, x % 2).
  static void store_rows(std::uint8_t* out, std::ptrdiff_t stride, Vec left, Vec right) {
    const Vec by_row = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    const Vec centre = _mm256_set1_epi8(-128);
    left = _mm256_shuffle_epi8(_mm256_xor_si256(left, centre), by_row);
    right = _mm256_shuffle_epi8(_mm256_xor_si256(right, centre), by_row);
    // Each lane has two rows of its block; a row of both blocks is a lane.
    const Vec rows01 = _mm256_permute4x64_epi64(low32(left, right), 0xD8);
    const Vec rows23 = _mm256_permute4x64_epi64(high32(left, right), 0xD8);
    store_row(out, _mm256_castsi256_si128(rows01));
    store_row(out + stride, _mm256_extracti128_si256(rows01, 1));
    store_row(out + 2 * stride, _mm256_castsi256_si128(rows23));
    store_row(out + 3 * stride, _mm256_extracti128_si256(rows23, 1));
  }
  static void store_row(std::uint8_t* out, __m128i row) { _mm_storeu_si128(reinterpret_cast<__m128i*>(out), row); }

  static Vec load_bytes(const std::uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }
  static void store_bytes(std::uint8_t* to, Vec v) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), v); }
  static Vec bytes(int value) { return _mm256_set1_epi8(static_cast<char>(value)); }
  static Vec words(int value) { return _mm256_set1_epi16(static_cast<short>(value)); }
  template <int kLow, int kHigh>
  static Vec byte_pairs() {
    return words(kHigh * 256 + (kLow & 255));
  }
  template <int kBits>
  static Vec shift_right16(Vec v) {
    return _mm256_srai_epi16(v, kBits);
  }
  static Vec dot_bytes(Vec a, Vec b) { return _mm256_maddubs_epi16(a, b); }
  static Vec low8(Vec a, Vec b) { return _mm256_unpacklo_epi8(a, b); }
  static Vec high8(Vec a, Vec b) { return _mm256_unpackhi_epi8(a, b); }
  static Vec average(Vec a, Vec b) { return _mm256_avg_epu8(a, b); }
  template <int kBits>
  static Vec shift_left16(Vec v) {
    return _mm256_slli_epi16(v, kBits);
  }
  static Vec pack_bytes(Vec a, Vec b) { return _mm256_packus_epi16(a, b); }
  static Vec exclusive_or(Vec a, Vec b) { return _mm256_xor_si256(a, b); }
  static Vec both_of_bits(Vec a, Vec b) { return _mm256_and_si256(a, b); }
  static Vec complement(Vec v) { return _mm256_xor_si256(v, _mm256_set1_epi8(-1)); }
  /// The upper 8 bits of each 16 of one vector, the lower of the other.
  static Vec upper_bytes(Vec upper, Vec lower) { return _mm256_blendv_epi8(lower, upper, words(-256)); }
  /// What interleaving made of the lower and of the upper half of each lane, in the order of the lanes.
  static void store_two(std::uint8_t* to, Vec low, Vec high) {
    store_bytes(to, _mm256_permute2x128_si256(low, high, 0x20));
    store_bytes(to + 32, _mm256_permute2x128_si256(low, high, 0x31));
  }
};

}  // namespace
}  // namespace drapps::kernel::jpeg
