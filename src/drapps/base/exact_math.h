// exp, log and normal deviates that are the same on every machine.
//
// What a stream draws must not depend on whose libm is installed, so these use nothing but +, −, ×, ÷ and square
// root, which IEEE 754 rounds exactly, in a fixed order (the build forbids contraction into FMA). They are part of
// the documented format of a stream: a change here changes every augmentation.
//
//   1. exp: x = k·ln 2 + r with |r| <= ln 2 / 2; the Taylor series of e^r up to r^13; then k goes into the exponent.
//   2. log: x = 2^k · m with m in [√½, √2]; log m = 2·atanh(s), s = (m − 1) / (m + 1), by its own series to s^23.
//   3. The inverse of the normal distribution: M. J. Wichura, "Algorithm AS 241: the percentage points of the normal
//      distribution", Applied Statistics 37 (1988), PPND16: three rational functions of degree 7.
//
// Measured against long double libm: exp and log within 1 unit in the last place, normal_quantile within 2e-15 of
// itself.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace drapps::exact {

namespace internal {

// ln 2 in two parts; the first has 21 trailing zero bits, so that k times it is exact for every exponent k.
inline constexpr double kLn2High = 0x1.62e42fee00000p-1;
inline constexpr double kLn2Low = 0x1.a39ef35793c76p-33;

/// c[0] + c[1] x + c[2] x² + …
template <std::size_t N>
constexpr double polynomial(const std::array<double, N>& c, double x) noexcept {
  double sum = c[N - 1];
  for (std::size_t i = N - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

/// x · 2^k for a normal x near 1 and a normal result.
inline double scale(double x, std::int64_t k) noexcept {
  return std::bit_cast<double>(std::bit_cast<std::int64_t>(x) + (k << 52));
}

}  // namespace internal

/// e^x. 0 below −708, where a double's full precision ends; infinity above 709.7.
inline double exp(double x) noexcept {
  if (x != x) return x;
  if (x < -708.0) return 0.0;
  if (x > 709.7) return std::numeric_limits<double>::infinity();
  constexpr std::array<double, 12> kSeries{1.0 / 2,       1.0 / 6,        1.0 / 24,        1.0 / 120,
                                           1.0 / 720,     1.0 / 5040,     1.0 / 40320,     1.0 / 362880,
                                           1.0 / 3628800, 1.0 / 39916800, 1.0 / 479001600, 1.0 / 6227020800.0};
  constexpr double kInverseLn2 = 0x1.71547652b82fep+0;
  const double turns = x * kInverseLn2;
  const auto k = static_cast<std::int64_t>(turns < 0 ? turns - 0.5 : turns + 0.5);
  const double high = x - static_cast<double>(k) * internal::kLn2High;
  const double low = static_cast<double>(k) * internal::kLn2Low;
  const double r = high - low;
  const double lost = (high - r) - low;  // what rounding took from r
  const double tail = lost + r * r * internal::polynomial(kSeries, r);
  return internal::scale(1.0 + (r + tail), k);
}

/// The natural logarithm of a positive, normal, finite x.
inline double log(double x) noexcept {
  constexpr std::array<double, 11> kSeries{2.0 / 3,  2.0 / 5,  2.0 / 7,  2.0 / 9,  2.0 / 11, 2.0 / 13,
                                           2.0 / 15, 2.0 / 17, 2.0 / 19, 2.0 / 21, 2.0 / 23};
  constexpr std::int64_t kRootHalf = 0x3fe6a09e667f3bcd;  // the bits of √½
  const auto bits = std::bit_cast<std::int64_t>(x);
  const std::int64_t k = (bits - kRootHalf) >> 52;
  const double f = std::bit_cast<double>(bits - (k << 52)) - 1.0;
  const double s = f / (2.0 + f);
  const double square = s * s;
  const double series = square * internal::polynomial(kSeries, square);
  // log(1 + f) = f − f²/2 + s·(f²/2 + series): f is exact, so the sum is rounded about once.
  const double half = 0.5 * f * f;
  const double exponent = static_cast<double>(k);
  return exponent * internal::kLn2High - ((half - (s * (half + series) + exponent * internal::kLn2Low)) - f);
}

/// The x below which a standard normal deviate lies with probability p, 0 < p < 1.
inline double normal_quantile(double p) noexcept {
  constexpr std::array<double, 8> kA{3.3871328727963666080e0,  1.3314166789178437745e+2, 1.9715909503065514427e+3,
                                     1.3731693765509461125e+4, 4.5921953931549871457e+4, 6.7265770927008700853e+4,
                                     3.3430575583588128105e+4, 2.5090809287301226727e+3};
  constexpr std::array<double, 8> kB{1.0,
                                     4.2313330701600911252e+1,
                                     6.8718700749205790830e+2,
                                     5.3941960214247511077e+3,
                                     2.1213794301586595867e+4,
                                     3.9307895800092710610e+4,
                                     2.8729085735721942674e+4,
                                     5.2264952788528545610e+3};
  constexpr std::array<double, 8> kC{1.42343711074968357734e0,  4.63033784615654529590e0, 5.76949722146069140550e0,
                                     3.64784832476320460504e0,  1.27045825245236838258e0, 2.41780725177450611770e-1,
                                     2.27238449892691845833e-2, 7.74545014278341407640e-4};
  constexpr std::array<double, 8> kD{1.0,
                                     2.05319162663775882187e0,
                                     1.67638483018380384940e0,
                                     6.89767334985100004550e-1,
                                     1.48103976427480074590e-1,
                                     1.51986665636164571966e-2,
                                     5.47593808499534494600e-4,
                                     1.05075007164441684324e-9};
  constexpr std::array<double, 8> kE{6.65790464350110377720e0,  5.46378491116411436990e0,  1.78482653991729133580e0,
                                     2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                                     2.71155556874348757815e-5, 2.01033439929228813265e-7};
  constexpr std::array<double, 8> kF{1.0,
                                     5.99832206555887937690e-1,
                                     1.36929880922735805310e-1,
                                     1.48753612908506148525e-2,
                                     7.86869131145613259100e-4,
                                     1.84631831751005468180e-5,
                                     1.42151175831644588870e-7,
                                     2.04426310338993978564e-15};
  const double q = p - 0.5;
  if (q <= 0.425 && q >= -0.425) {
    const double r = 0.180625 - q * q;
    return q * internal::polynomial(kA, r) / internal::polynomial(kB, r);
  }
  const double r = std::sqrt(-log(q < 0 ? p : 1.0 - p));
  const double x = r <= 5.0 ? internal::polynomial(kC, r - 1.6) / internal::polynomial(kD, r - 1.6)
                            : internal::polynomial(kE, r - 5.0) / internal::polynomial(kF, r - 5.0);
  return q < 0 ? -x : x;
}

/// A standard normal deviate from 32 uniform bits: the quantile at the middle of their cell, within ±6.4.
inline double normal(std::uint32_t bits) noexcept { return normal_quantile((bits + 0.5) * 0x1p-32); }

}  // namespace drapps::exact
