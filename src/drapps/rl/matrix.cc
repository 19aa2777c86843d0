#include "drapps/rl/matrix.h"

#include "drapps/rl/matrix_kernels.h"

namespace drapps::rl {
namespace {

const MatrixKernels& matrix_kernels(kernel::Level level) noexcept {
  switch (level) {
    case kernel::Level::kAvx512Vbmi:
    case kernel::Level::kAvx512: return kMatrixAvx512;
    case kernel::Level::kAvx2: return kMatrixAvx2;
    case kernel::Level::kPortable: break;
  }
  return kMatrixPortable;
}

}  // namespace

void add_product(Factor<float> a, const float* b, float* c, std::size_t rows, std::size_t inner, std::size_t columns,
                 kernel::Level level) noexcept {
  matrix_kernels(level).add_product(a, b, c, rows, inner, columns);
}

void tanh_all(float* values, std::size_t count, kernel::Level level) noexcept {
  matrix_kernels(level).tanh_all(values, count);
}

}  // namespace drapps::rl
