// Readings of several things of a kind, as their mean and their maximum.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "drapps/meter/reading.h"

namespace drapps {

/// Mean, maximum and sum of the readings that are valid; without one the results are invalid.
class Summary {
 public:
  void add(const Reading& reading) noexcept {
    if (!reading.valid) return;
    most_ = count_ == 0 ? reading.value : std::max(most_, reading.value);
    sum_ += reading.value;
    ++count_;
  }

  Reading mean(std::uint64_t now_ns) const noexcept { return result(sum_ / static_cast<double>(count_), now_ns); }
  Reading max(std::uint64_t now_ns) const noexcept { return result(most_, now_ns); }
  Reading sum(std::uint64_t now_ns) const noexcept { return result(sum_, now_ns); }

 private:
  Reading result(double value, std::uint64_t now_ns) const noexcept {
    return count_ == 0 ? Reading{} : reading(value, now_ns);
  }

  double sum_ = 0;
  double most_ = 0;
  std::size_t count_ = 0;
};

}  // namespace drapps
