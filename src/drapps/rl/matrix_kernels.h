// The loops of matrix.h, one set of functions per SIMD level. For matrix.cc and its tests.
#pragma once

#include <cstddef>

#include "drapps/rl/matrix.h"

namespace drapps::rl {

struct MatrixKernels {
  void (*add_product)(Factor<float> a, const float* b, float* c, std::size_t rows, std::size_t inner,
                      std::size_t columns) noexcept;
  void (*tanh_all)(float* values, std::size_t count) noexcept;
};

extern const MatrixKernels kMatrixPortable;  // the reference
extern const MatrixKernels kMatrixAvx2;
extern const MatrixKernels kMatrixAvx512;

}  // namespace drapps::rl
