#include "drapps/plant/knob_range.h"

#include <algorithm>

namespace drapps {

Limits native_limits(std::int32_t workers, std::int32_t io_depth, std::int32_t prefetch_depth,
                     bool can_split) noexcept {
  Limits limits;
  limits[KnobId::kWorkers] = {1, workers};
  limits[KnobId::kIoDepth] = {1, io_depth};
  limits[KnobId::kPrefetchDepth] = {1, prefetch_depth};
  limits[KnobId::kFused] = {can_split ? 0 : 1, 1};
  return limits;
}

KnobRange::KnobRange(const Knob& knob, const Limits& limits) noexcept
    : knob_(&knob), low_(limits[knob.id].low), high_(std::max(low_, limits[knob.id].high)) {}

std::int32_t KnobRange::fit(std::int32_t value) const noexcept {
  if (value >= high_) return high_;
  return std::clamp(knob_->step == KnobStep::kAny ? value : knob_->grid[notch_of(*knob_, value)], low_, high_);
}

std::int32_t KnobRange::up(std::int32_t value) const noexcept {
  const auto above = std::upper_bound(knob_->grid.begin(), knob_->grid.end(), value);
  return above == knob_->grid.end() ? high_ : std::clamp(*above, low_, high_);
}

std::int32_t KnobRange::down(std::int32_t value) const noexcept {
  const auto at = std::lower_bound(knob_->grid.begin(), knob_->grid.end(), value);
  return at == knob_->grid.begin() ? low_ : std::clamp(*(at - 1), low_, high_);
}

std::int32_t KnobRange::place(std::int32_t value) const noexcept {
  const auto first = std::upper_bound(knob_->grid.begin(), knob_->grid.end(), low_);
  const auto last = std::upper_bound(first, knob_->grid.end(), std::min(value, high_ - 1));
  return static_cast<std::int32_t>(last - first) + (value >= high_ && high_ > low_ ? 1 : 0);
}

KnobRange range_of(KnobId id, const Limits& limits) noexcept {
  return {knob_table()[static_cast<std::size_t>(id)], limits};
}

LaneWeights even_weights(const LaneSet& weighted) noexcept {
  LaneWeights weights{};
  const auto lanes = static_cast<std::int32_t>(weighted.count());
  if (lanes == 0) return weights;
  std::int32_t odd = kWeightUnit % lanes;
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (weighted[i]) weights[i] = kWeightUnit / lanes + (odd-- > 0 ? 1 : 0);
  }
  return weights;
}

bool weights_fit(const LaneWeights& weights, const LaneSet& weighted) noexcept {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (weighted[i] ? weights[i] < 1 : weights[i] != 0) return false;
    sum += weights[i];
  }
  return sum == (weighted.any() ? kWeightUnit : 0);
}

Settings fit_settings(const Settings& settings, const Limits& limits) noexcept {
  Settings fitted = settings;
  for (const Knob& knob : knob_table()) {
    const KnobRange range(knob, limits);
    if (!range.contains(fitted[knob.id])) fitted[knob.id] = range.fit(fitted[knob.id]);
  }
  if (!weights_fit(fitted.lane_weights, limits.weighted)) fitted.lane_weights = even_weights(limits.weighted);
  return fitted;
}

}  // namespace drapps
