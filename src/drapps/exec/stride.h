// Stride scheduling: of the lanes that have work, the one most behind its weight goes next.
//
// Source: C. Waldspurger, W. Weihl, "Stride scheduling: deterministic proportional-share resource
// management", MIT/LCS/TM-528, 1995. A lane's pass is the work it has had, divided by its weight. A lane
// that was idle resumes at the lowest pass of the busy ones, so it cannot hoard a claim to the past.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <optional>

#include "drapps/base/lane.h"

namespace drapps {

/// Guarded by whoever owns the lanes: no member is safe to call from two threads at once.
class StrideScheduler {
 public:
  /// A weight of zero counts as the smallest share, so that no lane starves.
  void set_weight(LaneRole lane, std::int32_t sixteenths) noexcept {
    weights_[index_of(lane)] = sixteenths < 1 ? 0.5 : static_cast<double>(sixteenths);
  }

  /// The lane to serve, or nothing where none is ready.
  std::optional<LaneRole> pick(const std::bitset<kLaneRoles>& ready) noexcept {
    std::optional<std::size_t> best;
    for (std::size_t i = 0; i < kLaneRoles; ++i) {
      if (!ready[i]) continue;
      if (!was_ready_[i]) passes_[i] = passes_[i] < floor_ ? floor_ : passes_[i];
      if (!best || passes_[i] < passes_[*best]) best = i;
    }
    was_ready_ = ready;
    if (!best) return std::nullopt;
    floor_ = passes_[*best];
    return static_cast<LaneRole>(*best);
  }

  /// Books `cost` (any unit, the same for all lanes) of service to a lane.
  void charge(LaneRole lane, double cost) noexcept { passes_[index_of(lane)] += cost / weights_[index_of(lane)]; }

 private:
  std::array<double, kLaneRoles> weights_ = [] {
    std::array<double, kLaneRoles> ones{};
    ones.fill(1.0);
    return ones;
  }();
  std::array<double, kLaneRoles> passes_{};
  std::bitset<kLaneRoles> was_ready_;
  double floor_ = 0;
};

}  // namespace drapps
