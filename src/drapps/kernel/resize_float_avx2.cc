#include <immintrin.h>

#include "drapps/kernel/resize_float_passes.h"

namespace drapps::kernel {
namespace {

__m256i load(const std::int32_t* from) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)); }

void horizontal(float* out, const float* in, const FloatAxis& axis) {
  for (std::int32_t x = 0; x < axis.padded; x += 8) {
    const __m256i plain = load(axis.plain + x);
    const float* weights = axis.weights + x;
    __m256i place = load(axis.first + x);
    __m256 sum = _mm256_mul_ps(_mm256_i32gather_ps(in, place, 4), _mm256_loadu_ps(weights));
    for (std::int32_t t = 1; t < axis.taps; ++t) {
      weights += axis.padded;
      place = _mm256_add_epi32(place, _mm256_set1_epi32(1));
      const __m256 value = _mm256_i32gather_ps(in, place, 4);
      const __m256 weight = _mm256_loadu_ps(weights);
      const __m256 rounded = _mm256_add_ps(sum, _mm256_mul_ps(value, weight));
      const __m256 fused = _mm256_fmadd_ps(value, weight, sum);
      const __m256 is_plain = _mm256_castsi256_ps(_mm256_cmpgt_epi32(plain, _mm256_set1_epi32(t)));
      sum = _mm256_blendv_ps(fused, rounded, is_plain);
    }
    _mm256_storeu_ps(out + x, sum);
  }
}

}  // namespace

const FloatKernels kFloatAvx2{horizontal, vertical};

}  // namespace drapps::kernel
