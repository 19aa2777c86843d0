#include "drapps/policy/initial.h"

#include <algorithm>

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
  settings[KnobId::kFused] = range_of(KnobId::kFused, limits).high();
  settings[KnobId::kProcesses] = range_of(KnobId::kProcesses, limits).low();
  settings.lane_weights = even_weights(limits.weighted);
  return settings;
}

Settings Initial::decide(const Observation& observation, PolicyState& state) const {
  state.why = Reason("stays as it was started");
  Settings settings = observation.settings;
  const std::int32_t most = state.limits[KnobId::kWorkers].high;
  const auto before = state.load<std::int32_t>();  // as many as there were at the last decision
  if (before != 0 && before != most && settings[KnobId::kWorkers] >= std::min(before, most)) {
    state.why = Reason("as many workers as there are cores");
    settings[KnobId::kWorkers] = most;
    if (observation.settings[KnobId::kWorkers] < most) return settings;  // on its way there
  }
  state.store(most);
  return settings;
}

}  // namespace drapps
