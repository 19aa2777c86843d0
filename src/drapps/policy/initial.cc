#include "drapps/policy/initial.h"

#include "drapps/plant/knob_range.h"

namespace drapps {

Settings initial_settings(const Limits& limits) noexcept {
  // Depths beyond these only pay where services are slow or bursty, which limits cannot tell; memory they cost always.
  constexpr std::int32_t kPrefetchDepth = 4;
  constexpr std::int32_t kIoDepth = 8;
  Settings settings;
  settings[KnobId::kWorkers] = range_of(KnobId::kWorkers, limits).high();
  settings[KnobId::kIoDepth] = range_of(KnobId::kIoDepth, limits).fit(kIoDepth);
  settings[KnobId::kPrefetchDepth] = range_of(KnobId::kPrefetchDepth, limits).fit(kPrefetchDepth);
  settings[KnobId::kFused] = 1;
  settings.lane_weights = even_weights(limits.weighted);
  return settings;
}

Settings Initial::decide(const Observation& observation, PolicyState& state) const {
  state.why = Reason("stays as it was started");
  return observation.settings;
}

}  // namespace drapps
