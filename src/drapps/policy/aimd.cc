#include "drapps/policy/aimd.h"

#include <cmath>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/load_window.h"

namespace drapps {

Settings Aimd::decide(const Observation& observation, PolicyState& state) const {
  auto window = state.load<LoadWindow>();
  const Load load = window.next(observation, state.limits);
  state.store(window);
  state.say("stall %.0f %%, cores %.0f %%: holds", load.stall * 100, load.cpu * 100);
  Settings settings = observation.settings;
  if (!load.known) return settings;
  if (load.stall > stall_) {
    for (const KnobId id : {KnobId::kWorkers, KnobId::kProcesses, KnobId::kIoDepth, KnobId::kPrefetchDepth}) {
      settings[id] = range_of(id, state.limits).up(settings[id]);
    }
    state.say("stall %.0f %%: one more", load.stall * 100);
  } else if (load.cpu > busy_) {
    for (const KnobId id : {KnobId::kWorkers, KnobId::kProcesses}) {
      const auto fewer = static_cast<std::int32_t>(std::floor(settings[id] * factor_));
      settings[id] = range_of(id, state.limits).fit(fewer);
    }
    state.say("cores %.0f %% busy: %.2f times as many makers", load.cpu * 100, factor_);
  }
  return settings;
}

}  // namespace drapps
