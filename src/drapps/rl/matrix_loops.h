// One source for all levels: vectors of `kWide` floats, which the compiler lowers to what the level has. What is here
// has internal linkage, since the linker might take another level's copy.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "drapps/rl/matrix_kernels.h"

namespace drapps::rl {

template <int kWide>
struct FloatLanes {
  typedef float Type __attribute__((vector_size(kWide * sizeof(float))));  // NOLINT(modernize-use-using)
};

inline constexpr std::size_t kRowsAtOnce = 4;

/// `kRows` rows of c, `kVectors` vectors of columns from j on.
template <int kWide, std::size_t kRows, std::size_t kVectors>
static inline void add_tile(Factor<float> a, const float* b, float* c, std::size_t inner, std::size_t columns,
                            std::size_t j) noexcept {
  using Lanes = typename FloatLanes<kWide>::Type;
  Lanes sums[kRows][kVectors];
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) std::memcpy(&sums[i][v], c + i * columns + j + v * kWide, sizeof(Lanes));
  }
  for (std::size_t k = 0; k < inner; ++k) {
    Lanes right[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) std::memcpy(&right[v], b + k * columns + j + v * kWide, sizeof(Lanes));
    for (std::size_t i = 0; i < kRows; ++i) {
      const float left = a.data[static_cast<std::ptrdiff_t>(i) * a.row + static_cast<std::ptrdiff_t>(k) * a.step];
      for (std::size_t v = 0; v < kVectors; ++v) sums[i][v] += left * right[v];
    }
  }
  for (std::size_t i = 0; i < kRows; ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) std::memcpy(c + i * columns + j + v * kWide, &sums[i][v], sizeof(Lanes));
  }
}

template <int kWide, std::size_t kRows>
static inline void add_rows(Factor<float> a, const float* b, float* c, std::size_t inner,
                            std::size_t columns) noexcept {
  std::size_t j = 0;
  for (; j + 2 * kWide <= columns; j += 2 * kWide) add_tile<kWide, kRows, 2>(a, b, c, inner, columns, j);
  for (; j + kWide <= columns; j += kWide) add_tile<kWide, kRows, 1>(a, b, c, inner, columns, j);
  for (; j < columns; ++j) {
    float sums[kRows];
    for (std::size_t i = 0; i < kRows; ++i) sums[i] = c[i * columns + j];
    for (std::size_t k = 0; k < inner; ++k) {
      const float right = b[k * columns + j];
      for (std::size_t i = 0; i < kRows; ++i) {
        sums[i] += a.data[static_cast<std::ptrdiff_t>(i) * a.row + static_cast<std::ptrdiff_t>(k) * a.step] * right;
      }
    }
    for (std::size_t i = 0; i < kRows; ++i) c[i * columns + j] = sums[i];
  }
}

template <int kWide>
static void add_product_of(Factor<float> a, const float* b, float* c, std::size_t rows, std::size_t inner,
                           std::size_t columns) noexcept {
  std::size_t i = 0;
  const auto from = [&](std::size_t row) {
    return Factor<float>{a.data + static_cast<std::ptrdiff_t>(row) * a.row, a.row, a.step};
  };
  for (; i + kRowsAtOnce <= rows; i += kRowsAtOnce) {
    add_rows<kWide, kRowsAtOnce>(from(i), b, c + i * columns, inner, columns);
  }
  for (; i < rows; ++i) add_rows<kWide, 1>(from(i), b, c + i * columns, inner, columns);
}

/// A quotient of two polynomials, after which nothing is left to a library.
/// Source: the rational approximation of tanh for floats of Eigen (Eigen/src/Core/MathFunctionsImpl.h).
static void tanh_loop(float* values, std::size_t count) noexcept {
  for (std::size_t i = 0; i < count; ++i) {
    float x = values[i];
    x = x > 7.9053111F ? 7.9053111F : x;
    x = x < -7.9053111F ? -7.9053111F : x;
    const float square = x * x;
    float above = square * -2.76076847742355e-16F + 2.00018790482477e-13F;
    above = square * above + -8.60467152213735e-11F;
    above = square * above + 5.12229709037114e-08F;
    above = square * above + 1.48572235717979e-05F;
    above = square * above + 6.37261928875436e-04F;
    above = square * above + 4.89352455891786e-03F;
    float below = square * 1.19825839466702e-06F + 1.18534705686654e-04F;
    below = square * below + 2.26843463243900e-03F;
    below = square * below + 4.89352518554385e-03F;
    const float quotient = x * above / below;
    values[i] = quotient > 1.0F ? 1.0F : (quotient < -1.0F ? -1.0F : quotient);
  }
}

}  // namespace drapps::rl
