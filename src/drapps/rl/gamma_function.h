// The logarithm of the gamma function and its first two derivatives, for arguments >= 1.
//
// Recurrence up to 8, then the asymptotic series (M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions",
// 6.1.41, 6.3.18, 6.4.12). Within 1e-12 of what they should be. The library's lgamma() keeps a sign in a global
// variable.
#pragma once

#include "drapps/base/exact_math.h"

namespace drapps::rl {

inline constexpr double kSeriesFrom = 8;

inline double log_gamma(double x) noexcept {
  double product = 1;
  for (; x < kSeriesFrom; x += 1) product *= x;
  constexpr double kHalfLogTwoPi = 0.91893853320467274178;
  const double inverse = 1 / x;
  const double square = inverse * inverse;
  const double series =
      inverse * (1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square * (1.0 / 1680 - square / 1188))));
  return (x - 0.5) * exact::log(x) - x + kHalfLogTwoPi + series - exact::log(product);
}

inline double digamma(double x) noexcept {
  double sum = 0;
  for (; x < kSeriesFrom; x += 1) sum -= 1 / x;
  const double square = 1 / (x * x);
  const double series =
      square * (1.0 / 12 - square * (1.0 / 120 - square * (1.0 / 252 - square * (1.0 / 240 - square / 132))));
  return sum + exact::log(x) - 0.5 / x - series;
}

inline double trigamma(double x) noexcept {
  double sum = 0;
  for (; x < kSeriesFrom; x += 1) sum += 1 / (x * x);
  const double inverse = 1 / x;
  const double square = inverse * inverse;
  const double series =
      square * inverse * (1.0 / 6 - square * (1.0 / 30 - square * (1.0 / 42 - square * (1.0 / 30 - square * 5 / 66))));
  return sum + inverse + 0.5 * square + series;
}

}  // namespace drapps::rl
