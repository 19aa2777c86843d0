// Stride scheduling: of the lanes that have work and a place for it, the one most behind its weight goes next.
//
// Source: C. Waldspurger, W. Weihl, "Stride scheduling: deterministic proportional-share resource
// management", MIT/LCS/TM-528, 1995. A lane's pass is the work it has had, divided by its weight. A lane
// that was idle resumes at the lowest pass of the busy ones, so it cannot hoard a claim to the past.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>

#include "drapps/base/lane.h"

namespace drapps {

/// Guarded by whoever owns the lanes: no member is safe to call from two threads at once.
class StrideScheduler {
 public:
  /// A weight of zero counts as the smallest share, so that no lane starves.
  void set_weight(std::size_t lane, std::int32_t sixteenths) noexcept {
    weights_[lane] = sixteenths < 1 ? 0.5 : static_cast<double>(sixteenths);
  }

  /// The most jobs that the lane may have at once.
  void set_cap(std::size_t lane, std::size_t jobs) noexcept { caps_[lane] = jobs; }

  /// The lane to serve, or nothing where none is ready below its cap.
  std::optional<std::size_t> pick(LaneSet ready) noexcept {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < kLanes.size(); ++i) {
      if (jobs_[i] >= caps_[i]) ready.reset(i);
      if (!ready[i]) continue;
      if (!was_ready_[i]) passes_[i] = passes_[i] < floor_ ? floor_ : passes_[i];
      if (!best || passes_[i] < passes_[*best]) best = i;
    }
    was_ready_ = ready;
    if (!best) return std::nullopt;
    floor_ = passes_[*best];
    return best;
  }

  /// A job of the lane begins, and ends.
  void begin(std::size_t lane) noexcept { ++jobs_[lane]; }
  void end(std::size_t lane) noexcept { --jobs_[lane]; }
  /// Jobs that have begun and not ended, in all lanes.
  std::size_t jobs() const noexcept { return std::accumulate(jobs_.begin(), jobs_.end(), std::size_t{0}); }

  /// Books `cost` (any unit, the same for all lanes) of service to a lane.
  void charge(std::size_t lane, double cost) noexcept { passes_[lane] += cost / weights_[lane]; }

 private:
  template <typename T>
  static constexpr std::array<T, kLanes.size()> all(T value) noexcept {
    std::array<T, kLanes.size()> values{};
    values.fill(value);
    return values;
  }

  std::array<double, kLanes.size()> weights_ = all(1.0);
  std::array<double, kLanes.size()> passes_{};
  std::array<std::size_t, kLanes.size()> caps_ = all(std::numeric_limits<std::size_t>::max());
  std::array<std::size_t, kLanes.size()> jobs_{};
  LaneSet was_ready_;
  double floor_ = 0;
};

}  // namespace drapps
