#include "drapps/policy/rule.h"

#include "drapps/plant/knob_range.h"
#include "drapps/policy/load_window.h"

namespace drapps {

Settings Rule::decide(const Observation& observation, PolicyState& state) const {
  auto window = state.load<LoadWindow>();
  const Load load = window.next(observation, state.limits);
  state.store(window);
  state.say("stall %.0f %%, cores %.0f %%, accelerators %.0f %%: within the thresholds", load.stall * 100,
            load.cpu * 100, load.gpu * 100);
  Settings settings = observation.settings;
  if (!load.known) return settings;
  const auto move = [&](KnobId id, bool up) {
    const KnobRange range = range_of(id, state.limits);
    settings[id] = up ? range.up(settings[id]) : range.down(settings[id]);
  };
  const bool more_on_gpu = load.gpu_known && load.cpu > cpu_high_ && load.gpu < gpu_low_;
  const bool less_on_gpu = load.gpu_known && load.gpu > gpu_high_ && load.cpu < cpu_low_;
  if (more_on_gpu || less_on_gpu) {
    move(KnobId::kDecodeOnGpu, more_on_gpu);
    move(KnobId::kAugmentOnGpu, more_on_gpu);
    state.say("cores %.0f %%, accelerators %.0f %%: %s samples on accelerators", load.cpu * 100, load.gpu * 100,
              more_on_gpu ? "more" : "fewer");
  }
  const bool more_makers = load.stall > stall_ && load.cpu <= cpu_high_;
  const bool fewer_makers = load.stall <= 0 && load.cpu > cpu_high_;
  if (more_makers || fewer_makers) {
    move(KnobId::kWorkers, more_makers);
    move(KnobId::kProcesses, more_makers);
    state.say("stall %.0f %%, cores %.0f %%: %s makers", load.stall * 100, load.cpu * 100,
              more_makers ? "more" : "fewer");
  }
  return settings;
}

}  // namespace drapps
