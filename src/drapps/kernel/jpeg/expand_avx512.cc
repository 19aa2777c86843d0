// Twice the bytes of AVX2 in every step, but for the blocks themselves: what puts bytes or words where a mask has bits
// came with VBMI2.
#include "drapps/kernel/avx512.h"
#include "drapps/kernel/jpeg/expand_kernels.h"

namespace drapps::kernel::jpeg {

/// Bits are counted by a table of 16 (W. Mula, "SSSE3: fast popcount", 2008), eight masks at a time.
std::size_t value_bytes_avx512(const std::uint8_t* masks, std::size_t count) {
  const __m512i bits = _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4));
  const __m512i four = _mm512_set1_epi8(15), wide = _mm512_set1_epi64(kWide);
  __m512i sum = _mm512_setzero_si512();
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    const __m512i all = _mm512_loadu_si512(masks + kMaskBytes * i);
    const __m512i others = _mm512_andnot_si512(wide, all);
    const __m512i low = _mm512_shuffle_epi8(bits, _mm512_and_si512(others, four));
    const __m512i high = _mm512_shuffle_epi8(bits, _mm512_and_si512(_mm512_srli_epi16(others, 4), four));
    const __m512i set = _mm512_sad_epu8(_mm512_add_epi8(low, high), _mm512_setzero_si512());
    sum = _mm512_add_epi64(sum, _mm512_sllv_epi64(set, _mm512_and_si512(all, wide)));
  }
  return static_cast<std::size_t>(_mm512_reduce_add_epi64(sum)) + count_value_bytes(masks + kMaskBytes * i, count - i);
}

std::uint64_t lane_sum_avx512(const std::uint8_t* data, std::size_t lanes) {
  const __m512i low = _mm512_set1_epi64(0xFFFFFFFF);
  __m512i lower = _mm512_setzero_si512(), upper = lower, lower_twice = lower, upper_twice = lower;
  for (std::size_t i = 0; i < lanes; ++i) {
    const __m512i words = _mm512_loadu_si512(data + kLane * i);
    lower = _mm512_add_epi64(lower, _mm512_and_si512(words, low));
    upper = _mm512_add_epi64(upper, _mm512_srli_epi64(words, 32));
    lower_twice = _mm512_add_epi64(lower_twice, lower);
    upper_twice = _mm512_add_epi64(upper_twice, upper);
  }
  const auto times = [](__m512i sum, const std::array<std::uint64_t, 8>& factors) {
    return _mm512_mullo_epi64(sum, _mm512_load_si512(factors.data()));
  };
  const __m512i once = _mm512_add_epi64(times(lower, kLaneFactors.lower), times(upper, kLaneFactors.upper));
  const __m512i twice =
      _mm512_add_epi64(times(lower_twice, kLaneFactors.lower_twice), times(upper_twice, kLaneFactors.upper_twice));
  const auto sum = static_cast<std::uint64_t>(_mm512_reduce_add_epi64(_mm512_add_epi64(once, twice)));
  return sum;
}

const ExpandKernels kExpandAvx512{value_bytes_avx512, expand_avx2, pack_blocks, lane_sum_avx512};

}  // namespace drapps::kernel::jpeg
