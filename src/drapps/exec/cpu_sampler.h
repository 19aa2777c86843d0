// The CPU time of many short pieces of work on one thread, without reading its clock at each: that takes 0.3 µs.
//
// The clock is read for one piece in eight, and for those that follow one of a millisecond or more. CPU time of the
// others is their time, times the share of it that CPU time was in the pieces measured lately. So sums are right on
// average, and of a single short piece it is an estimate.
#pragma once

#include <algorithm>
#include <cstdint>

#include "drapps/base/clock.h"

namespace drapps {

/// One thread's, for pieces of one kind.
class CpuSampler {
 public:
  static constexpr std::uint64_t kNotRead = ~std::uint64_t{0};
  static constexpr std::uint32_t kEvery = 8;
  static constexpr std::uint64_t kLongNs = 1'000'000;

  /// A piece begins: the thread's CPU time, or kNotRead.
  std::uint64_t begin() const noexcept { return left_ == 0 ? thread_cpu_ns() : kNotRead; }

  /// It ends; its CPU time in ns.
  /// @param begun    what begin() gave.
  /// @param wall_ns  how long it took.
  std::uint64_t end(std::uint64_t begun, std::uint64_t wall_ns) noexcept {
    const auto wall = static_cast<double>(wall_ns);
    const bool measured = begun != kNotRead;
    std::uint64_t cpu_ns = 0;
    if (measured) {
      cpu_ns = thread_cpu_ns() - begun;
      wall_ = kKept * wall_ + wall;
      cpu_ = kKept * cpu_ + static_cast<double>(cpu_ns);
    } else {
      cpu_ns = static_cast<std::uint64_t>(wall * std::min(1.0, wall_ > 0 ? cpu_ / wall_ : 1.0));
    }
    if (wall_ns >= kLongNs) {
      left_ = 0;
    } else if (measured) {
      left_ = kEvery - 1;
    } else if (left_ > 0) {  // it is 0 where pieces lie within one another
      --left_;
    }
    return cpu_ns;
  }

 private:
  static constexpr double kKept = 0.875;  // of what was measured before, at each measurement

  std::uint32_t left_ = 0;  // pieces until one is measured
  double wall_ = 0, cpu_ = 0;
};

}  // namespace drapps
