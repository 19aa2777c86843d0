// Arithmetic that was checked: a division by d is x * h + x * l with h + l = 1 / d to 48 bits and one fused
// rounding. The Normalizer compared all 256 results with the table; where one differed, the table is read.
#include <immintrin.h>

#include "drapps/kernel/normalize_kernels.h"

namespace drapps::kernel {
namespace {

struct ArithmeticVectors {
  __m256 scale_high, scale_low, mean, inverse_high, inverse_low;

  explicit ArithmeticVectors(const ChannelTable::ChannelArithmetic& a)
      : scale_high(_mm256_set1_ps(a.scale_high)),
        scale_low(_mm256_set1_ps(a.scale_low)),
        mean(_mm256_set1_ps(a.mean)),
        inverse_high(_mm256_set1_ps(a.inverse_high)),
        inverse_low(_mm256_set1_ps(a.inverse_low)) {}

  /// Eight pixels.
  __m256 at(const std::uint8_t* in) const {
    const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(in));
    const __m256 x = _mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes));
    const __m256 centred = _mm256_sub_ps(_mm256_fmadd_ps(x, scale_high, _mm256_mul_ps(x, scale_low)), mean);
    return _mm256_fmadd_ps(centred, inverse_high, _mm256_mul_ps(centred, inverse_low));
  }
};

bool aligned(const void* out) { return reinterpret_cast<std::uintptr_t>(out) % 32 == 0; }

/// Rounds to nearest, ties to even, into the low half of every lane.
__m256i rounded(__m256 value) {
  const __m256i bits = _mm256_castps_si256(value);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  return _mm256_srli_epi32(_mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7FFF))), 16);
}

template <class T>
void interleave3(T* out, const T* in, std::size_t stride, std::size_t n, bool /*stream*/) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < 3; ++c) out[3 * i + c] = in[c * stride + i];
  }
}

}  // namespace

void to_float32_avx2(float* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table, bool stream) {
  const float* values = table.value;
  std::size_t x = 0;
  if (table.arithmetic.exact) {
    const ArithmeticVectors steps(table.arithmetic);
    stream = stream && aligned(out);
    for (; x + 8 <= n; x += 8) {
      if (stream) {
        _mm256_stream_ps(out + x, steps.at(in + x));
      } else {
        _mm256_storeu_ps(out + x, steps.at(in + x));
      }
    }
  }
  for (; x < n; ++x) out[x] = values[in[x]];
}

void to_bfloat16_avx2(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table,
                      bool stream) {
  const std::uint16_t* values = table.bfloat16;
  std::size_t x = 0;
  if (table.arithmetic.exact) {
    const ArithmeticVectors steps(table.arithmetic);
    stream = stream && aligned(out);
    for (; x + 16 <= n; x += 16) {
      const __m256i packed = _mm256_packus_epi32(rounded(steps.at(in + x)), rounded(steps.at(in + x + 8)));
      const __m256i ordered = _mm256_permute4x64_epi64(packed, 0xD8);
      auto* to = reinterpret_cast<__m256i*>(out + x);
      if (stream) {
        _mm256_stream_si256(to, ordered);
      } else {
        _mm256_storeu_si256(to, ordered);
      }
    }
  }
  for (; x < n; ++x) out[x] = values[in[x]];
}

const NormalizeKernels kNormalizeAvx2{to_float32_avx2, to_bfloat16_avx2, interleave3<std::uint32_t>,
                                      interleave3<std::uint16_t>};

}  // namespace drapps::kernel
