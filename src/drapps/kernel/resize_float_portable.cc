#include "drapps/kernel/resize_float_passes.h"

namespace drapps::kernel {
namespace {

void horizontal(float* out, const float* in, const FloatAxis& axis) {
  for (std::int32_t x0 = 0; x0 < axis.padded; x0 += kFloatSide) {
    const std::int32_t* first = axis.first + x0;
    const std::int32_t* plain = axis.plain + x0;
    const float* weights = axis.weights + x0;
    float sums[kFloatSide];
    for (std::int32_t k = 0; k < kFloatSide; ++k) sums[k] = in[first[k]] * weights[k];
    for (std::int32_t t = 1; t < axis.taps; ++t) {
      weights += axis.padded;
      for (std::int32_t k = 0; k < kFloatSide; ++k) {
        const float value = in[first[k] + t];
        const float rounded = sums[k] + value * weights[k];
        const float fused = __builtin_fmaf(value, weights[k], sums[k]);
        sums[k] = t < plain[k] ? rounded : fused;
      }
    }
    for (std::int32_t k = 0; k < kFloatSide; ++k) out[x0 + k] = sums[k];
  }
}

}  // namespace

const FloatKernels kFloatPortable{horizontal, vertical};

}  // namespace drapps::kernel
