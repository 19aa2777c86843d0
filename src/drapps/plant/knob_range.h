// The values that a knob may take under the limits of a plant.
//
//   std::int32_t& workers = settings[KnobId::kWorkers];
//   workers = range_of(KnobId::kWorkers, limits).up(workers);
//   plant.apply(fit_settings(settings, limits));
//
// They are the grid's up to the budget, and the budget itself, on the grid or not: ten allowed workers are ten, not
// the eight below them. A notch is one place in this list.
#pragma once

#include <cstdint>

#include "drapps/plant/plant.h"

namespace drapps {

/// The limits of a plan that threads of this process run: knobs from 1 to so many, and fused where it cannot be split.
Limits native_limits(std::int32_t workers, std::int32_t io_depth = 1, std::int32_t prefetch_depth = 1,
                     bool can_split = false) noexcept;

class KnobRange {
 public:
  KnobRange(const Knob& knob, const Limits& limits) noexcept;

  std::int32_t low() const noexcept { return low_; }
  std::int32_t high() const noexcept { return high_; }
  bool contains(std::int32_t value) const noexcept { return low_ <= value && value <= high_; }
  /// The largest allowed value <= `value`, or low(). Of a knob of KnobStep::kAny all values between are.
  std::int32_t fit(std::int32_t value) const noexcept;
  /// The next allowed value above; high() at the end.
  std::int32_t up(std::int32_t value) const noexcept;
  /// The next allowed value below; low() at the end.
  std::int32_t down(std::int32_t value) const noexcept;
  /// Notches from low() to `value`.
  std::int32_t place(std::int32_t value) const noexcept;

 private:
  const Knob* knob_;
  std::int32_t low_;
  std::int32_t high_;
};

KnobRange range_of(KnobId id, const Limits& limits) noexcept;

/// Sixteenths shared as evenly as they go over the lanes in `weighted`, the odd ones to the first; all zero for none.
LaneWeights even_weights(const LaneSet& weighted) noexcept;

/// Whether every lane in `weighted` has at least 1/16 (a lane without workers would stop the plan), the others none,
/// and all together the whole.
bool weights_fit(const LaneWeights& weights, const LaneSet& weighted) noexcept;

/// `settings` with everything outside the limits brought to the nearest allowed value; weights that do not fit become
/// even ones.
Settings fit_settings(const Settings& settings, const Limits& limits) noexcept;

}  // namespace drapps
