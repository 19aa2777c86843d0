// Random numbers of which a checkpoint needs to keep nothing but how many were drawn: a counter-based generator.
//
// Source: Philox4x32-10 (base/philox.h). A stream is named by a seed and a number.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "drapps/base/exact_math.h"
#include "drapps/base/philox.h"

namespace drapps::rl {

class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t stream = 0) noexcept : seed_(seed), stream_(stream) {}

  /// Words drawn so far.
  std::uint64_t drawn() const noexcept { return drawn_; }
  /// Goes on as if so many words had been drawn.
  void seek(std::uint64_t drawn) noexcept {
    drawn_ = drawn;
    if (drawn % 4 != 0) fill();
  }

  std::uint32_t u32() noexcept {
    if (drawn_ % 4 == 0) fill();
    return words_[drawn_++ % 4];
  }
  /// Uniform in (0, 1), never an end.
  double uniform() noexcept { return (u32() + 0.5) * 0x1p-32; }
  /// Uniform in {0, …, bound - 1}; bound >= 1.
  std::uint32_t below(std::uint32_t bound) noexcept {
    return static_cast<std::uint32_t>((std::uint64_t{u32()} * bound) >> 32);
  }
  /// A standard normal deviate.
  double normal() noexcept { return exact::normal(u32()); }

  /// A deviate of the gamma distribution with scale 1 and a shape >= 1.
  /// Source: G. Marsaglia, W. W. Tsang, "A simple method for generating gamma variables", ACM TOMS 26 (2000).
  double gamma(double shape) noexcept {
    const double d = shape - 1.0 / 3;
    const double c = 1 / std::sqrt(9 * d);
    for (;;) {
      const double x = normal();
      const double v = (1 + c * x) * (1 + c * x) * (1 + c * x);
      const double u = uniform();
      if (v > 0 && exact::log(u) < 0.5 * x * x + d - d * v + d * exact::log(v)) return d * v;
    }
  }

 private:
  void fill() noexcept {
    const std::uint64_t block = drawn_ / 4;
    words_ = philox4x32({static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                         static_cast<std::uint32_t>(stream_), static_cast<std::uint32_t>(stream_ >> 32)},
                        {static_cast<std::uint32_t>(seed_), static_cast<std::uint32_t>(seed_ >> 32)});
  }

  std::uint64_t seed_, stream_;
  std::uint64_t drawn_ = 0;
  std::array<std::uint32_t, 4> words_{};
};

}  // namespace drapps::rl
