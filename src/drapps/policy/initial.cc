#include "drapps/policy/initial.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/depth_watch.h"
#include "drapps/policy/start.h"

namespace drapps {
namespace {

/// What it remembers.
struct Remembered {
  std::int32_t most_workers;  // at the last decision at which it had as many, or did not want them
  Start start;
  DepthWatch watch;
};

/// Depths of the start; once that is over, of the watch.
std::optional<Settings> depths(Remembered& remembered, const Observation& seen, PolicyState& state) {
  if (remembered.start.phase == Start::StartPhase::kEnded) return watch_depths(remembered.watch, seen, state);
  return start_depths(remembered.start, seen, state);
}

}  // namespace

Settings initial_settings(const Limits& limits, std::size_t batch_bytes) noexcept {
  // Depths beyond these only pay where services are slow or bursty, which limits cannot tell; memory they cost always.
  constexpr std::int32_t kPrefetchDepth = 4;
  constexpr std::int32_t kIoDepth = 8;
  constexpr std::int32_t kProcesses = 8;
  // Small batches cost none, and are made so fast that handing over each takes as long: of rows of 3 kB, 64 a batch, 32
  // batches ahead give 1.3 times the samples/s of 4 (benchmarks/results/headroom.md).
  constexpr std::size_t kSmall = std::size_t{8} << 20;
  const auto small = static_cast<std::int32_t>(batch_bytes == 0 ? 0 : kSmall / batch_bytes);
  const std::int32_t ahead = std::max(kPrefetchDepth, small);
  Settings settings;
  settings[KnobId::kWorkers] = range_of(KnobId::kWorkers, limits).high();
  settings[KnobId::kIoDepth] = range_of(KnobId::kIoDepth, limits).fit(kIoDepth);
  settings[KnobId::kPrefetchDepth] = range_of(KnobId::kPrefetchDepth, limits).fit(ahead);
  settings[KnobId::kFused] = range_of(KnobId::kFused, limits).high();
  settings[KnobId::kProcesses] =
      range_of(KnobId::kProcesses, limits).fit(std::min(kProcesses, static_cast<std::int32_t>(std::ceil(limits.cpus))));
  settings.lane_weights = even_weights(limits.weighted);
  return settings;
}

bool Initial::knows(const PolicyState& state) const noexcept {
  // A window begins with a bool.
  if (!state.is_bool(offsetof(Remembered, watch) + offsetof(DepthWatch, window))) return false;
  const auto remembered = state.load<Remembered>();
  return remembered.start.phase <= Start::StartPhase::kEnded &&
         remembered.watch.phase <= DepthWatch::DepthPhase::kReturn;
}

Settings Initial::decide(const Observation& observation, PolicyState& state) const {
  state.why = Reason("stays as it was started");
  auto remembered = state.load<Remembered>();
  Settings settings = depths(remembered, observation, state).value_or(observation.settings);
  const std::int32_t most = state.limits[KnobId::kWorkers].high;
  const std::int32_t before = remembered.most_workers;
  bool on_its_way = false;
  if (before != 0 && before != most && settings[KnobId::kWorkers] >= std::min(before, most)) {
    state.why = Reason("as many workers as there are cores");
    settings[KnobId::kWorkers] = most;
    on_its_way = observation.settings[KnobId::kWorkers] < most;
  }
  if (!on_its_way) remembered.most_workers = most;
  state.store(remembered);
  return settings;
}

}  // namespace drapps
