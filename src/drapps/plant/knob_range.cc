#include "drapps/plant/knob_range.h"

#include <algorithm>

namespace drapps {
namespace {

std::int32_t budget_of(KnobId id, const Limits& limits) noexcept {
  switch (id) {
    case KnobId::kWorkers: return limits.max_workers;
    case KnobId::kIoDepth: return limits.max_io_depth;
    case KnobId::kPrefetchDepth: return limits.max_prefetch_depth;
    case KnobId::kFused: return 1;
  }
  return 0;
}

}  // namespace

KnobRange::KnobRange(const Knob& knob, const Limits& limits) noexcept
    : knob_(&knob),
      low_(knob.id == KnobId::kFused && !limits.can_split ? 1 : knob.grid.front()),
      high_(std::max(low_, budget_of(knob.id, limits))) {}

std::int32_t KnobRange::fit(std::int32_t value) const noexcept {
  if (value >= high_) return high_;
  return std::max(low_, knob_->grid[notch_of(*knob_, value)]);
}

std::int32_t KnobRange::up(std::int32_t value) const noexcept {
  const auto above = std::upper_bound(knob_->grid.begin(), knob_->grid.end(), value);
  return above == knob_->grid.end() ? high_ : std::clamp(*above, low_, high_);
}

std::int32_t KnobRange::down(std::int32_t value) const noexcept {
  const auto at = std::lower_bound(knob_->grid.begin(), knob_->grid.end(), value);
  return at == knob_->grid.begin() ? low_ : std::clamp(*(at - 1), low_, high_);
}

KnobRange range_of(KnobId id, const Limits& limits) noexcept {
  return {knob_table()[static_cast<std::size_t>(id)], limits};
}

std::array<std::int32_t, kLaneRoles> even_weights(const std::bitset<kLaneRoles>& weighted) noexcept {
  std::array<std::int32_t, kLaneRoles> weights{};
  const auto lanes = static_cast<std::int32_t>(weighted.count());
  if (lanes == 0) return weights;
  std::int32_t odd = kWeightUnit % lanes;
  for (std::size_t i = 0; i < kLaneRoles; ++i) {
    if (weighted[i]) weights[i] = kWeightUnit / lanes + (odd-- > 0 ? 1 : 0);
  }
  return weights;
}

bool weights_fit(const std::array<std::int32_t, kLaneRoles>& weights,
                 const std::bitset<kLaneRoles>& weighted) noexcept {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < kLaneRoles; ++i) {
    if (weighted[i] ? weights[i] < 1 : weights[i] != 0) return false;
    sum += weights[i];
  }
  return sum == (weighted.any() ? kWeightUnit : 0);
}

}  // namespace drapps
