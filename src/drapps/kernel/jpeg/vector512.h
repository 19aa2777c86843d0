// 512 bits as the templates idct_lanes.h, upsample_vector.h and ycc_words.h want them, without VBMI or VNNI. For
// *_<level>.cc only; everything has internal linkage, since each compiles it for its own level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/avx512.h"
#include "drapps/kernel/jpeg/idct.h"

namespace drapps::kernel::jpeg {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

struct Vector512 {
  using Vec = __m512i;
  static constexpr std::size_t kBlocks = 4;  // a lane each

  /// Each row of the first block, and the same row of the next ones. A load has four rows of one block, and lanes
  /// change places in two steps: 16 shuffles, where putting rows together from memory would take 24.
  static void dequantise(Vec rows[8], const std::int16_t* blocks, const std::int16_t* quant) {
    for (std::size_t half = 0; half < 2; ++half, rows += 4) {
      const Vec factors = load(quant + 32 * half);
      Vec of[4];
      for (std::size_t b = 0; b < 4; ++b) of[b] = mul16(load(blocks + kBlock * b + 32 * half), factors);
      const Vec low01 = _mm512_shuffle_i32x4(of[0], of[1], 0x44), high01 = _mm512_shuffle_i32x4(of[0], of[1], 0xEE);
      const Vec low23 = _mm512_shuffle_i32x4(of[2], of[3], 0x44), high23 = _mm512_shuffle_i32x4(of[2], of[3], 0xEE);
      rows[0] = _mm512_shuffle_i32x4(low01, low23, 0x88);
      rows[1] = _mm512_shuffle_i32x4(low01, low23, 0xDD);
      rows[2] = _mm512_shuffle_i32x4(high01, high23, 0x88);
      rows[3] = _mm512_shuffle_i32x4(high01, high23, 0xDD);
    }
  }
  static Vec load(const std::int16_t* from) { return _mm512_load_si512(from); }

  static void store(std::int16_t* to, Vec v) { _mm512_store_si512(to, v); }

  static bool any_beyond_14_bits(Vec v) {
    return _mm512_test_epi16_mask(_mm512_add_epi16(v, words(8192)), words(-16384)) != 0;
  }
  /// Two rows as pairs, in two times four columns.
  static void interleave(Vec& first, Vec& last, Vec a, Vec b) {
    a = ordered(a);
    b = ordered(b);
    first = _mm512_unpacklo_epi16(a, b);
    last = _mm512_unpackhi_epi16(a, b);
  }

  template <int kLow, int kHigh>
  static Vec pairs() {
    return _mm512_set1_epi32(
        static_cast<int>(static_cast<unsigned>(kHigh) << 16 | (static_cast<unsigned>(kLow) & 0xFFFF)));
  }
  /// The upper 16 bits of each 32 of one vector, the lower of the other.
  static Vec upper_words(Vec upper, Vec lower) { return _mm512_mask_blend_epi16(0xAAAAAAAA, lower, upper); }
  template <int kBits>
  static Vec shift_left32(Vec v) {
    return _mm512_slli_epi32(v, kBits);
  }
  template <int kBits>
  static Vec shift_right32(Vec v) {
    return _mm512_srai_epi32(v, kBits);
  }
  template <int kBits>
  static Vec shift_right32_logical(Vec v) {
    return _mm512_srli_epi32(v, kBits);
  }
  static Vec add16(Vec a, Vec b) { return _mm512_add_epi16(a, b); }
  static Vec add32(Vec a, Vec b) { return _mm512_add_epi32(a, b); }
  static Vec sub32(Vec a, Vec b) { return _mm512_sub_epi32(a, b); }
  static Vec mul16(Vec a, Vec b) { return _mm512_mullo_epi16(a, b); }
  static Vec mul16_rounded(Vec a, Vec b) { return _mm512_mulhrs_epi16(a, b); }
  static Vec dot(Vec a, Vec b) { return _mm512_madd_epi16(a, b); }
  /// The sum of both products of each pair, added to `sum`.
  static Vec dot(Vec sum, Vec a, Vec b) { return _mm512_add_epi32(sum, dot(a, b)); }
  template <int kLow, int kHigh>
  static void plus_minus(Vec& plus, Vec& minus, Vec sum, Vec a) {
    const Vec product = dot(a, pairs<kLow, kHigh>());
    plus = add32(sum, product);
    minus = sub32(sum, product);
  }
  static Vec pack32(Vec a, Vec b) { return _mm512_packs_epi32(a, b); }
  static Vec sub16(Vec a, Vec b) { return _mm512_sub_epi16(a, b); }
  static Vec pack16(Vec a, Vec b) { return _mm512_packs_epi16(a, b); }

  static Vec low32(Vec a, Vec b) { return _mm512_unpacklo_epi32(a, b); }
  static Vec high32(Vec a, Vec b) { return _mm512_unpackhi_epi32(a, b); }
  static Vec low64(Vec a, Vec b) { return _mm512_unpacklo_epi64(a, b); }
  static Vec high64(Vec a, Vec b) { return _mm512_unpackhi_epi64(a, b); }

  /// Four rows of the blocks, from the left and the right half of each. A lane has its signed bytes in the order
  /// (x / 2 % 2, y, x % 2).
  static void store_rows(std::uint8_t* out, std::ptrdiff_t stride, Vec left, Vec right) {
    const Vec by_row = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 8, 9, 2, 3, 10, 11, 4, 5, 12, 13, 6, 7, 14, 15));
    left = _mm512_shuffle_epi8(exclusive_or(left, bytes(-128)), by_row);
    right = _mm512_shuffle_epi8(exclusive_or(right, bytes(-128)), by_row);
    // Each lane has two rows of its block; a row of all blocks is half of the vector.
    const Vec halves = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    const Vec rows01 = _mm512_permutexvar_epi64(halves, low32(left, right));
    const Vec rows23 = _mm512_permutexvar_epi64(halves, high32(left, right));
    store_row(out, _mm512_castsi512_si256(rows01));
    store_row(out + stride, _mm512_extracti64x4_epi64(rows01, 1));
    store_row(out + 2 * stride, _mm512_castsi512_si256(rows23));
    store_row(out + 3 * stride, _mm512_extracti64x4_epi64(rows23, 1));
  }
  static void store_row(std::uint8_t* out, __m256i row) { _mm256_storeu_si256(reinterpret_cast<__m256i*>(out), row); }

  static Vec load_bytes(const std::uint8_t* from) { return _mm512_loadu_si512(from); }
  static void store_bytes(std::uint8_t* to, Vec v) { _mm512_storeu_si512(to, v); }
  static Vec bytes(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }
  static Vec words(int value) { return _mm512_set1_epi16(static_cast<short>(value)); }
  template <int kLow, int kHigh>
  static Vec byte_pairs() {
    return words(kHigh * 256 + (kLow & 255));
  }
  template <int kBits>
  static Vec shift_right16(Vec v) {
    return _mm512_srai_epi16(v, kBits);
  }
  static Vec dot_bytes(Vec a, Vec b) { return _mm512_maddubs_epi16(a, b); }
  static Vec low8(Vec a, Vec b) { return _mm512_unpacklo_epi8(a, b); }
  static Vec high8(Vec a, Vec b) { return _mm512_unpackhi_epi8(a, b); }
  static Vec average(Vec a, Vec b) { return _mm512_avg_epu8(a, b); }
  template <int kBits>
  static Vec shift_left16(Vec v) {
    return _mm512_slli_epi16(v, kBits);
  }
  static Vec pack_bytes(Vec a, Vec b) { return _mm512_packus_epi16(a, b); }
  static Vec exclusive_or(Vec a, Vec b) { return _mm512_xor_si512(a, b); }
  static Vec both_of_bits(Vec a, Vec b) { return _mm512_and_si512(a, b); }
  static Vec complement(Vec v) { return _mm512_ternarylogic_epi64(v, v, v, 0x55); }
  static Vec upper_bytes(Vec upper, Vec lower) { return _mm512_mask_blend_epi8(0xAAAAAAAAAAAAAAAA, lower, upper); }
  static void store_two(std::uint8_t* to, Vec low, Vec high) {
    const Vec first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), last = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    store_bytes(to, _mm512_permutex2var_epi64(low, first, high));
    store_bytes(to + 64, _mm512_permutex2var_epi64(low, last, high));
  }

 private:
  /// Words of each lane in the order of kColumns.
  static Vec ordered(Vec v) {
    const __m128i order = _mm_setr_epi8(8, 9, 0, 1, 4, 5, 12, 13, 14, 15, 2, 3, 6, 7, 10, 11);
    return _mm512_shuffle_epi8(v, _mm512_broadcast_i32x4(order));
  }
};

}  // namespace
}  // namespace drapps::kernel::jpeg
