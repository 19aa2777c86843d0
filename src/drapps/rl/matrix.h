// The two loops in which networks spend their time, the same results to the last bit at every SIMD level.
//
// Every element of a product is one sum, taken in the order of the inner index, from what stands there; levels differ
// only in how many elements they have under way at once.
#pragma once

#include <cmath>
#include <cstddef>

#include "drapps/kernel/level.h"

namespace drapps::rl {

/// A matrix to read: element (i, k) is data[i * row + k * step], so a transposed one needs no copy.
template <class T>
struct Factor {
  const T* data;
  std::ptrdiff_t row;
  std::ptrdiff_t step;
};

/// c += a b, where a is [rows, inner], b [inner, columns] and c [rows, columns]; the last two are contiguous by rows.
void add_product(Factor<float> a, const float* b, float* c, std::size_t rows, std::size_t inner, std::size_t columns,
                 kernel::Level level = kernel::active_level()) noexcept;

/// Hyperbolic tangents in place: within 5e-7, and within [-1, 1].
void tanh_all(float* values, std::size_t count, kernel::Level level = kernel::active_level()) noexcept;

/// add_product() and tanh_all() in double, for the tests of gradients.
inline void add_product(Factor<double> a, const double* b, double* c, std::size_t rows, std::size_t inner,
                        std::size_t columns) noexcept {
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t k = 0; k < inner; ++k) {
      const double x = a.data[static_cast<std::ptrdiff_t>(i) * a.row + static_cast<std::ptrdiff_t>(k) * a.step];
      for (std::size_t j = 0; j < columns; ++j) c[i * columns + j] += x * b[k * columns + j];
    }
  }
}
inline void tanh_all(double* values, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) values[i] = std::tanh(values[i]);
}

}  // namespace drapps::rl
