#include "drapps/rl/matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "drapps/rl/gamma_function.h"
#include "drapps/rl/mlp.h"
#include "drapps/rl/random.h"

namespace drapps::rl {
namespace {

std::vector<float> some_floats(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (float& number : numbers) number = static_cast<float>(random.normal());
  return numbers;
}

TEST(Matrix, EveryLevelGivesTheSameBits) {
  for (const std::size_t rows : {1U, 3U, 4U, 9U}) {
    for (const std::size_t columns : {1U, 5U, 16U, 18U, 33U, 64U}) {
      const std::size_t inner = 7 + rows;
      const std::vector<float> a = some_floats(rows * inner, 1);
      const std::vector<float> b = some_floats(inner * columns, 2);
      for (const bool transposed : {false, true}) {
        const auto step = static_cast<std::ptrdiff_t>(transposed ? rows : 1);
        const auto row = static_cast<std::ptrdiff_t>(transposed ? 1 : inner);
        std::vector<float> wanted = some_floats(rows * columns, 3);
        const std::vector<float> begin = wanted;
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < columns; ++j) {
            for (std::size_t k = 0; k < inner; ++k) {
              wanted[i * columns + j] +=
                  a[i * static_cast<std::size_t>(row) + k * static_cast<std::size_t>(step)] * b[k * columns + j];
            }
          }
        }
        for (const kernel::Level level : kernel::supported_levels()) {
          std::vector<float> c = begin;
          add_product(Factor<float>{a.data(), row, step}, b.data(), c.data(), rows, inner, columns, level);
          EXPECT_EQ(c, wanted) << kernel::name_of(level) << " " << rows << " " << columns;
        }
      }
    }
  }
}

TEST(Matrix, TangentsAreThoseOfTheLibraryAtEveryLevel) {
  std::vector<float> numbers;
  for (float x = -12; x <= 12; x += 0.0137F) numbers.push_back(x);
  numbers.insert(numbers.end(), {0.0F, 1e-30F, 1e30F, -1e30F});
  std::vector<float> reference = numbers;
  tanh_all(reference.data(), reference.size(), kernel::Level::kPortable);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_NEAR(reference[i], std::tanh(static_cast<double>(numbers[i])), 5e-7);
    EXPECT_LE(std::abs(reference[i]), 1.0F);
  }
  for (const kernel::Level level : kernel::supported_levels()) {
    std::vector<float> tangents = numbers;
    tanh_all(tangents.data(), tangents.size(), level);
    EXPECT_EQ(tangents, reference) << kernel::name_of(level);
  }
}

TEST(Mlp, OneRowHasTheBitsThatItHasInABatch) {
  Mlp<float> net({13, 64, 64, 18});
  Random random(4);
  net.begin(random, 0.5);
  const std::vector<float> rows = some_floats(9 * net.inputs(), 5);
  Mlp<float>::MlpPass pass;
  const auto batch = net.forward(rows.data(), 9, pass);
  std::vector<float> scratch(2 * kMostWidth);
  for (std::size_t i = 0; i < 9; ++i) {
    const auto one = net.forward_one(rows.data() + i * net.inputs(), scratch);
    for (std::size_t j = 0; j < net.outputs(); ++j) EXPECT_EQ(one[j], batch[i * net.outputs() + j]);
  }
}

TEST(Mlp, BeginsWithOrthogonalWeights) {
  Mlp<double> net({4, 3, 8});
  Random random(6);
  net.begin(random, 0.01);
  const auto parameters = net.parameters();
  const auto dot = [&](std::size_t a, std::size_t b) {  // of columns of the first layer
    double sum = 0;
    for (std::size_t k = 0; k < 4; ++k) sum += parameters[k * 3 + a] * parameters[k * 3 + b];
    return sum;
  };
  EXPECT_NEAR(dot(0, 0), 2, 1e-12);
  EXPECT_NEAR(dot(0, 2), 0, 1e-12);
  double squares = 0;  // of the first row of the last layer
  for (std::size_t j = 0; j < 8; ++j) squares += parameters[15 + j] * parameters[15 + j];
  EXPECT_NEAR(squares, 1e-4, 1e-14);
}

TEST(GammaFunction, IsKnownAtSomePlaces) {
  EXPECT_NEAR(log_gamma(1), 0, 1e-12);
  EXPECT_NEAR(log_gamma(1.5), -0.12078223763524522, 1e-12);
  EXPECT_NEAR(log_gamma(100), 359.13420536957540, 1e-10);
  EXPECT_NEAR(digamma(1), -0.57721566490153286, 1e-12);
  EXPECT_NEAR(digamma(10), 2.2517525890667211, 1e-12);
  EXPECT_NEAR(trigamma(1), 1.6449340668482264, 1e-12);
  EXPECT_NEAR(trigamma(4), 0.28382295573711532, 1e-12);
}

TEST(GammaDistribution, HasItsSharesAndQuantilesAndTheirSlopes) {
  EXPECT_NEAR(gamma_at(2, 1).below, 1 - 2 * std::exp(-1), 1e-12);
  EXPECT_NEAR(gamma_at(2, 1).density, std::exp(-1), 1e-12);
  EXPECT_NEAR(gamma_quantile(1, 0), std::log(2), 1e-12);
  for (const double shape : {1.01, 1.3, 4.0, 60.0, 2000.0}) {
    for (const double normal : {-5.0, -1.0, 0.0, 0.7, 3.0}) {
      const double x = gamma_quantile(shape, normal);
      EXPECT_NEAR(gamma_at(shape, x).below, 0.5 * std::erfc(-normal / std::sqrt(2)), 1e-11);
      const double step = 1e-4 * shape;
      const double twice = gamma_quantile(shape + step, normal) - gamma_quantile(shape - step, normal);
      EXPECT_NEAR(gamma_slope(shape, x), twice / (2 * step), 1e-6);
    }
  }
}

TEST(Random, GoesOnWhereItWas) {
  Random one(1, 2);
  for (int i = 0; i < 7; ++i) one.u32();
  Random two(1, 2);
  two.seek(one.drawn());
  for (int i = 0; i < 9; ++i) EXPECT_EQ(one.u32(), two.u32());
  EXPECT_NE(Random(1, 3).u32(), Random(1, 2).u32());
}

TEST(Random, GammaDeviatesHaveTheirMoments) {
  Random random(3);
  for (const double shape : {1.0, 3.5}) {
    double sum = 0;
    double squares = 0;
    constexpr int kCount = 20000;
    for (int i = 0; i < kCount; ++i) {
      const double x = random.gamma(shape);
      sum += x;
      squares += x * x;
    }
    EXPECT_NEAR(sum / kCount, shape, 0.05 * shape);
    EXPECT_NEAR(squares / kCount - sum / kCount * (sum / kCount), shape, 0.1 * shape);
  }
}

}  // namespace
}  // namespace drapps::rl
