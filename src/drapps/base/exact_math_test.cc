#include "drapps/base/exact_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "drapps/base/philox.h"

namespace drapps {
namespace {

/// Distance in units in the last place of the true value.
double ulps(double got, long double want) {
  const double near = static_cast<double>(want);
  const double ulp = std::nextafter(std::abs(near), INFINITY) - std::abs(near);
  return static_cast<double>(std::abs(static_cast<long double>(got) - want) / static_cast<long double>(ulp));
}

TEST(ExactMath, ExpIsWithinOneUlp) {
  Draws draws({.seed = 1}, 1);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double range = i % 2 == 0 ? 3.0 : 700.0;
    const double x = draws.uniform(-range, range);
    worst = std::max(worst, ulps(exact::exp(x), std::exp(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_EQ(exact::exp(0.0), 1.0);
  EXPECT_EQ(exact::exp(-1000.0), 0.0);
  EXPECT_EQ(exact::exp(1000.0), INFINITY);
}

TEST(ExactMath, LogIsWithinOneUlp) {
  Draws draws({.seed = 2}, 1);
  double worst = 0;
  for (int i = 0; i < 200000; ++i) {
    const double near_one = draws.uniform(0.25, 4.0);
    const double x = i % 2 == 0 ? near_one : std::ldexp(near_one, static_cast<int>(draws.below(1600)) - 800);
    worst = std::max(worst, ulps(exact::log(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 1.0);
  EXPECT_EQ(exact::log(1.0), 0.0);
}

TEST(ExactMath, NormalQuantileInvertsTheDistribution) {
  // The error of a quantile x is the error of Φ(x) over the density φ(x).
  Draws draws({.seed = 3}, 1);
  double worst = 0;
  for (int i = 0; i < 100000; ++i) {
    const double p = i % 2 == 0 ? draws.uniform(0.001, 0.999) : (draws.u32() + 0.5) * 0x1p-32;
    const double x = exact::normal_quantile(p);
    const long double tail = 0.5L * std::erfc(std::abs(static_cast<long double>(x)) / std::sqrt(2.0L));
    const long double want = p < 0.5 ? static_cast<long double>(p) : 1.0L - static_cast<long double>(p);
    const long double density = std::exp(-0.5L * x * x) / std::sqrt(2.0L * 3.14159265358979323846L);
    worst = std::max(worst, static_cast<double>(std::abs(tail - want) / density) / std::max(std::abs(x), 0.1));
  }
  EXPECT_LT(worst, 2e-15);
  EXPECT_EQ(exact::normal_quantile(0.5), 0.0);
  EXPECT_EQ(exact::normal(0x12345678u), -exact::normal(~0x12345678u));
}

TEST(ExactMath, ValuesOfTheStreamNeverChange) {
  EXPECT_EQ(exact::exp(0.28768207245178085), 0x1.5555555555555p+0);
  EXPECT_EQ(exact::log(0.75), -0x1.269621134db92p-2);
  EXPECT_EQ(exact::normal(0), -0x1.95a1198fcf3d5p+2);
  EXPECT_EQ(exact::normal(1u << 30), -0x1.5956b872030bap-1);
}

TEST(ExactMath, NormalDeviatesHaveMomentsOfTheStandardNormal) {
  Draws draws({.seed = 4}, 1);
  constexpr int kCount = 200000;
  double sum = 0, squares = 0, fourths = 0;
  for (int i = 0; i < kCount; ++i) {
    const double x = exact::normal(draws.u32());
    sum += x;
    squares += x * x;
    fourths += x * x * x * x;
  }
  constexpr double n = kCount;
  EXPECT_NEAR(sum / n, 0.0, 4 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1.0, 4 * std::sqrt(2 / n));
  EXPECT_NEAR(fourths / n, 3.0, 4 * std::sqrt(96 / n));
}

}  // namespace
}  // namespace drapps
