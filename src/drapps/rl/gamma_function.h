// The logarithm of the gamma function and its first two derivatives, for arguments >= 1, and the gamma distribution of
// scale 1.
//
// Recurrence up to 8, then the asymptotic series (M. Abramowitz, I. A. Stegun, "Handbook of Mathematical Functions",
// 6.1.41, 6.3.18, 6.4.12; of the distribution 6.5.29 and 26.4.17). Within 1e-12 of what they should be. The library's
// lgamma() keeps a sign in a global variable.
#pragma once

#include <algorithm>
#include <cmath>

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

/// Of a gamma distribution at x > 0: the share that lies below, the density, and how the share changes with the shape.
struct GammaAt {
  double below, density, by_shape;
};

/// @param shape  0.5 at least
inline GammaAt gamma_at(double shape, double x) noexcept {
  const double log_x = exact::log(x);
  double term = exact::exp(shape * log_x - x - log_gamma(shape + 1));
  double log_slope = log_x - digamma(shape + 1);
  GammaAt at{.below = 0, .density = term * shape / x, .by_shape = 0};
  constexpr double kNothing = 1e-18;
  for (double k = shape + 1; at.below == 0 || term > kNothing * at.below; k += 1) {
    at.below += term;
    at.by_shape += term * log_slope;
    log_slope -= 1 / k;
    term *= x / k;
    if (term == 0) break;
  }
  return at;
}

/// The number below which a gamma distribution has as much as a standard normal one has below `normal`.
/// @param shape  1 at least
inline double gamma_quantile(double shape, double normal) noexcept {
  const double half = 0.5 * gamma_at(0.5, std::max(0.5 * normal * normal, 1e-300)).below;
  const double below = normal < 0 ? 0.5 - half : 0.5 + half;
  // Wilson and Hilferty's approximation; near 0 the first term of the series.
  const double root = 1 - 1 / (9 * shape) + normal / (3 * std::sqrt(shape));
  const double least = exact::exp((exact::log(std::max(below, 1e-300)) + log_gamma(shape + 1)) / shape);
  double x = root > 0.3 ? shape * root * root * root : least;
  constexpr int kMostSteps = 30;
  for (int i = 0; i < kMostSteps; ++i) {
    const GammaAt at = gamma_at(shape, x);
    const double step = std::clamp((at.below - below) / std::max(at.density, 1e-300), -x, 0.75 * x);
    x -= step;
    if (std::abs(step) <= 1e-14 * x) break;
  }
  return x;
}

/// How gamma_quantile() changes with the shape, at a quantile that it gave.
inline double gamma_slope(double shape, double quantile) noexcept {
  const GammaAt at = gamma_at(shape, quantile);
  return -at.by_shape / std::max(at.density, 1e-300);
}

}  // namespace drapps::rl
