// Four blocks and 64 pixels at a time. Two things are better here than with 32 bytes: vpdpwssd adds to a sum in the
// instruction that multiplies, and bytes move anywhere by vpermt2b.
#include "drapps/kernel/avx512.h"
#include "drapps/kernel/jpeg/idct_vector.h"
#include "drapps/kernel/jpeg/pixel_kernels.h"
#include "drapps/kernel/jpeg/upsample_vector.h"
#include "drapps/kernel/jpeg/ycc_vector.h"

namespace drapps::kernel::jpeg {
namespace {

struct alignas(64) Words {
  std::int16_t at[32];
};
struct alignas(64) Bytes {
  std::uint8_t at[64];
};

template <class Table, std::size_t kSize, class Rule>
constexpr Table table_by(Rule rule) {
  Table table{};
  for (std::size_t i = 0; i < kSize; ++i)
    table.at[i] = static_cast<std::remove_reference_t<decltype(table.at[0])>>(rule(i));
  return table;
}

/// Order of the columns in a lane: pairs of frequencies that are multiplied together.
constexpr std::size_t kOrder[8]{4, 0, 2, 6, 7, 1, 5, 3};

/// Word i of a vector that interleaves two, four columns of each, from place `start` of the order.
constexpr Words interleaved(std::size_t start) {
  return table_by<Words, 32>([start](std::size_t i) { return i / 8 * 8 + kOrder[start + i % 8 / 2] + i % 2 * 32; });
}
constexpr Words kFirstColumns = interleaved(0), kLastColumns = interleaved(4);

/// Byte i of rows y and y + 1, 32 bytes each: of the lane of its block, which has (x / 2 % 2, y, x % 2), x / 4 chooses
/// the vector.
constexpr Bytes row_pair(std::size_t y) {
  return table_by<Bytes, 64>([y](std::size_t i) {
    const std::size_t x = i % 8, block = i % 32 / 8;
    return x / 4 * 64 + block * 16 + x / 2 % 2 * 8 + (y + i / 32) * 2 + x % 2;
  });
}
constexpr Bytes kRows01 = row_pair(0), kRows23 = row_pair(2);

struct Vector512 {
  using Vec = __m512i;
  static constexpr std::size_t kBlocks = 4;

  static __m128i row_of(const std::int16_t* from) { return _mm_load_si128(reinterpret_cast<const __m128i*>(from)); }

  static Vec load_rows(const std::int16_t* row) {
    Vec v = _mm512_castsi128_si512(row_of(row));
    v = _mm512_mask_broadcast_i64x2(v, 0x0C, row_of(row + kBlock));
    v = _mm512_mask_broadcast_i64x2(v, 0x30, row_of(row + 2 * kBlock));
    return _mm512_mask_broadcast_i64x2(v, 0xC0, row_of(row + 3 * kBlock));
  }
  static Vec repeat_row(const std::int16_t* row) { return _mm512_broadcast_i64x2(row_of(row)); }
  static Vec load(const std::int16_t* from) { return _mm512_load_si512(from); }
  static void store(std::int16_t* to, Vec v) { _mm512_store_si512(to, v); }

  static bool any_beyond_14_bits(Vec v) {
    return _mm512_cmpgt_epu16_mask(_mm512_add_epi16(v, _mm512_set1_epi16(8192)), _mm512_set1_epi16(16383)) != 0;
  }
  static void interleave(Vec& first, Vec& last, Vec a, Vec b) {
    first = _mm512_permutex2var_epi16(a, load(kFirstColumns.at), b);
    last = _mm512_permutex2var_epi16(a, load(kLastColumns.at), b);
  }

  static Vec zero() { return _mm512_setzero_si512(); }
  template <int kLow, int kHigh>
  static Vec pairs() {
    return _mm512_set1_epi32(
        static_cast<int>(static_cast<unsigned>(kHigh) << 16 | (static_cast<unsigned>(kLow) & 0xFFFF)));
  }
  static Vec upper_words(Vec upper, Vec lower) { return _mm512_mask_blend_epi16(0xAAAAAAAA, lower, upper); }
  static Vec swap_words(Vec v) { return _mm512_rol_epi32(v, 16); }
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
  static Vec dot(Vec sum, Vec a, Vec b) { return _mm512_dpwssd_epi32(sum, a, b); }
  template <int kLow, int kHigh>
  static void plus_minus(Vec& plus, Vec& minus, Vec sum, Vec a) {
    plus = dot(sum, a, pairs<kLow, kHigh>());
    minus = dot(sum, a, pairs<-kLow, -kHigh>());
  }
  static Vec pack32(Vec a, Vec b) { return _mm512_packs_epi32(a, b); }
  static Vec pack16(Vec a, Vec b) { return _mm512_packs_epi16(a, b); }
  static Vec low32(Vec a, Vec b) { return _mm512_unpacklo_epi32(a, b); }
  static Vec high32(Vec a, Vec b) { return _mm512_unpackhi_epi32(a, b); }
  static Vec low64(Vec a, Vec b) { return _mm512_unpacklo_epi64(a, b); }
  static Vec high64(Vec a, Vec b) { return _mm512_unpackhi_epi64(a, b); }

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

  static Vec load_bytes(const std::uint8_t* from) { return _mm512_loadu_si512(from); }
  static void store_bytes(std::uint8_t* to, Vec v) { _mm512_storeu_si512(to, v); }
  static Vec bytes(int value) { return _mm512_set1_epi8(static_cast<char>(value)); }
  static Vec words(int value) { return _mm512_set1_epi16(static_cast<short>(value)); }
  template <int kLow, int kHigh>
  static Vec byte_pairs() {
    return words(kHigh * 256 + (kLow & 255));
  }
  static Vec and_bits(Vec a, Vec b) { return _mm512_and_si512(a, b); }
  static Vec xor_bits(Vec a, Vec b) { return _mm512_xor_si512(a, b); }
  template <int kBits>
  static Vec shift_right16(Vec v) {
    return _mm512_srai_epi16(v, kBits);
  }
  static Vec sub16(Vec a, Vec b) { return _mm512_sub_epi16(a, b); }
  static Vec dot_bytes(Vec a, Vec b) { return _mm512_maddubs_epi16(a, b); }
  static Vec pack16_unsigned(Vec a, Vec b) { return _mm512_packus_epi16(a, b); }
  static Vec low8(Vec a, Vec b) { return _mm512_unpacklo_epi8(a, b); }
  static Vec high8(Vec a, Vec b) { return _mm512_unpackhi_epi8(a, b); }
  static Vec average(Vec a, Vec b) { return _mm512_avg_epu8(a, b); }
  template <int kBits>
  static Vec shift_left16(Vec v) {
    return _mm512_slli_epi16(v, kBits);
  }
  static Vec complement(Vec v) { return _mm512_ternarylogic_epi64(v, v, v, 0x55); }
  static Vec upper_bytes(Vec upper, Vec lower) { return _mm512_mask_blend_epi8(0xAAAAAAAAAAAAAAAA, lower, upper); }
  static void store_two(std::uint8_t* to, Vec low, Vec high) {
    const Vec first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11), last = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    store_bytes(to, _mm512_permutex2var_epi64(low, first, high));
    store_bytes(to + 64, _mm512_permutex2var_epi64(low, last, high));
  }
};

}  // namespace

const PixelKernels kPixelsAvx512{InverseDct<Vector512>::run, Upsample<Vector512>::across, Upsample<Vector512>::down,
                                 Upsample<Vector512>::both, YccToRgb<Vector512>::run};

}  // namespace drapps::kernel::jpeg
