// Eight coefficients at a time: a row of the block has a byte of the mask, and that byte has a shuffle.
#include <immintrin.h>

#include "drapps/kernel/jpeg/expand_kernels.h"

namespace drapps::kernel::jpeg {
namespace {

/// For each byte of a mask: brings the values that it counts to the upper halves of their words, and zeros elsewhere.
struct alignas(64) Shuffles {
  std::uint8_t at[256][16];
};
constexpr Shuffles kShuffles = [] {
  Shuffles shuffles{};
  for (unsigned mask = 0; mask < 256; ++mask) {
    std::uint8_t next = 0;
    for (unsigned i = 0; i < 8; ++i) {
      shuffles.at[mask][2 * i] = 0x80;
      shuffles.at[mask][2 * i + 1] = (mask >> i & 1) != 0 ? next++ : std::uint8_t{0x80};
    }
  }
  return shuffles;
}();

__m128i load16(const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
__m256i two(__m128i low, const std::uint8_t* high) {
  return _mm256_inserti128_si256(_mm256_castsi128_si256(low), load16(high), 1);
}

/// Where the shuffle of row v of a mask stands, in bytes: a rotation needs no shift for the size of an entry.
std::size_t entry_of(std::uint64_t mask, int v) { return std::rotr(mask, (8 * v + 60) % 64) & 0xFF0; }

/// The values of two rows, the second ones at `next`, in the upper halves of their words.
__m256i two_rows(const std::uint8_t* values, const std::uint8_t* next, std::size_t first, std::size_t second) {
  const std::uint8_t* const shuffles = kShuffles.at[0];
  return _mm256_shuffle_epi8(two(load16(values), next), two(load16(shuffles + first), shuffles + second));
}

/// @param apart  from the low byte of a value to its high byte, where it is wide
/// @return the end of the (low) bytes.
template <bool kIsWide>
const std::uint8_t* expand_block(std::int16_t* block, std::uint64_t mask, const std::uint8_t* values,
                                 std::size_t apart) {
  for (int v = 0; v < 8; v += 2) {
    const std::size_t first = entry_of(mask, v), second = entry_of(mask, v + 1);
    const std::uint8_t* const next = values + __builtin_popcountll(first);
    __m256i words = two_rows(values, next, first, second);
    if constexpr (kIsWide) {
      words = _mm256_or_si256(_mm256_srli_epi16(words, 8), two_rows(values + apart, next + apart, first, second));
    } else {
      words = _mm256_srai_epi16(words, 8);
    }
    _mm256_store_si256(reinterpret_cast<__m256i*>(block + 8 * v), words);
    values = next + __builtin_popcountll(second);
  }
  return values;
}

/// Bits are counted by a table of 16 (W. Mula, "SSSE3: fast popcount", 2008), four masks at a time.
std::size_t value_bytes_avx2(const std::uint8_t* masks, std::size_t count) {
  const __m256i bits = _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  const __m256i four = _mm256_set1_epi8(15), wide = _mm256_set1_epi64x(kWide);
  __m256i sum = _mm256_setzero_si256();
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    const __m256i all = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(masks + kMaskBytes * i));
    const __m256i others = _mm256_andnot_si256(wide, all);
    const __m256i low = _mm256_shuffle_epi8(bits, _mm256_and_si256(others, four));
    const __m256i high = _mm256_shuffle_epi8(bits, _mm256_and_si256(_mm256_srli_epi16(others, 4), four));
    const __m256i set = _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
    sum = _mm256_add_epi64(sum, _mm256_sllv_epi64(set, _mm256_and_si256(all, wide)));
  }
  alignas(32) std::uint64_t lane[4];
  _mm256_store_si256(reinterpret_cast<__m256i*>(lane), sum);
  return lane[0] + lane[1] + lane[2] + lane[3] + count_value_bytes(masks + kMaskBytes * i, count - i);
}

std::uint64_t lane_sum_avx2(const std::uint8_t* data, std::size_t lanes) {
  const __m256i low = _mm256_set1_epi64x(0xFFFFFFFF);
  __m256i sums[2][4]{};  // by half of a lane: lower, upper, lower_twice, upper_twice
  for (std::size_t i = 0; i < lanes; ++i) {
    for (std::size_t half = 0; half < 2; ++half) {
      const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(data + kLane * i + 32 * half));
      __m256i* const sum = sums[half];
      sum[0] = _mm256_add_epi64(sum[0], _mm256_and_si256(words, low));
      sum[1] = _mm256_add_epi64(sum[1], _mm256_srli_epi64(words, 32));
      sum[2] = _mm256_add_epi64(sum[2], sum[0]);
      sum[3] = _mm256_add_epi64(sum[3], sum[1]);
    }
  }
  const std::uint64_t* const factors[4]{kLaneFactors.lower.data(), kLaneFactors.upper.data(),
                                        kLaneFactors.lower_twice.data(), kLaneFactors.upper_twice.data()};
  std::uint64_t total = 0;
  for (std::size_t half = 0; half < 2; ++half) {
    for (std::size_t kind = 0; kind < 4; ++kind) {
      alignas(32) std::uint64_t lane[4];
      _mm256_store_si256(reinterpret_cast<__m256i*>(lane), sums[half][kind]);
      for (std::size_t j = 0; j < 4; ++j) total += lane[j] * factors[kind][4 * half + j];
    }
  }
  return total;
}

}  // namespace

const std::uint8_t* expand_avx2(std::int16_t* blocks, const std::uint8_t* masks, const std::uint8_t* dc,
                                const std::uint8_t* values, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i, blocks += kBlock) {
    const std::uint64_t mask = mask_at(masks, i);
    if ((mask & kWide) != 0) [[unlikely]] {
      const auto n = static_cast<std::size_t>(__builtin_popcountll(mask & ~kWide));
      values = expand_block<true>(blocks, mask & ~kWide, values, n) + n;
    } else {
      values = expand_block<false>(blocks, mask, values, 0);
    }
    std::memcpy(blocks, dc + kDcBytes * i, kDcBytes);
  }
  return values;
}

const ExpandKernels kExpandAvx2{value_bytes_avx2, expand_avx2, pack_blocks, lane_sum_avx2};

}  // namespace drapps::kernel::jpeg
