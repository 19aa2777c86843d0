// Growth per second of a counter that somebody else counts.
#pragma once

#include <cstdint>
#include <optional>

#include "drapps/meter/reading.h"

namespace drapps {

class Rate {
 public:
  /// @param scale  from the counter's unit to that of the reading, per second: 1e-6 makes µs of CPU time cores.
  explicit Rate(double scale = 1) noexcept : scale_(scale) {}

  /// Growth since the look before. Never negative. Invalid at the first look, after one at which the counter could not
  /// be read, where time does not move on, and where the counter went back: it wrapped, or it is another's (a core that
  /// was offline, a device that was exchanged).
  /// @param count  what the counter stands at; nothing where it cannot be read.
  Reading read(std::optional<std::uint64_t> count, std::uint64_t now_ns) noexcept;

  /// The next look is the first: what is counted from there on is another's.
  void forget() noexcept { before_.reset(); }

 private:
  double scale_;
  std::optional<std::uint64_t> before_{};
  std::uint64_t before_ns_ = 0;
};

}  // namespace drapps
