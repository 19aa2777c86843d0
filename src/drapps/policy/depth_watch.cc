#include "drapps/policy/depth_watch.h"

#include <algorithm>

#include "drapps/policy/start.h"

namespace drapps {
namespace {

using WatchPhase = DepthWatch::Phase;

constexpr double kWaits = 0.1;        // share of the training's time
constexpr double kWorkersWait = 0.2;  // share of the workers' time
constexpr double kWorth = 0.05;       // of a step
constexpr double kErrors = 2;         // standard errors of both windows
constexpr std::uint64_t kRestNs = 30'000'000'000;
constexpr std::uint32_t kMostDoublings = 5;

/// A new window begins with this observation.
void begin_window(DepthWatch& watch, WatchPhase phase, const Observation& seen) {
  watch.phase = phase;
  watch.mark = read_mark(seen);
  watch.workers_ns = seen.workers.wall_ns;
  watch.storage_ns = seen.workers.storage_ns;
  watch.window.restart();
  watch.window.add(seen);
}

bool waits_for_storage(const DepthWatch& watch, const Observation& seen) {
  const auto workers = static_cast<double>(seen.workers.wall_ns - watch.workers_ns);
  const auto storage = static_cast<double>(seen.workers.storage_ns - watch.storage_ns);
  return watch.window.measure().stall >= kWaits && storage >= kWorkersWait * workers;
}

/// The depths of `to`, with all else as it stands.
Settings with_depths(Settings settings, const Settings& to) {
  for (const KnobId id : {KnobId::kIoDepth, KnobId::kPrefetchDepth}) settings[id] = to[id];
  return settings;
}

/// A window is over in which nothing was moved.
std::optional<Settings> look(DepthWatch& watch, const Observation& seen, PolicyState& state) {
  const bool asks = seen.time_ns >= watch.rest_until_ns && seen.turn == Turn::kOpen &&
                    seen.storage.refusals == watch.mark.refusals && waits_for_storage(watch, seen);
  const auto metered = asks ? meter_reads(watch.mark, seen, state.limits) : std::nullopt;
  if (!metered || deep_enough(seen.settings, *metered, state.limits) == seen.settings) {
    begin_window(watch, WatchPhase::kWatch, seen);
    return std::nullopt;
  }
  watch.metered = *metered;
  watch.measured = watch.window.measure();
  watch.before = seen.settings;
  watch.asked = 0;
  watch.phase = WatchPhase::kMove;
  return watch_depths(watch, seen, state);
}

std::optional<Settings> judge(DepthWatch& watch, const Observation& seen, PolicyState& state) {
  const StepMeasure now = watch.window.measure();
  const StepMeasure& then = watch.measured;
  const double gain = then.step_ns > 0 ? 1 - now.step_ns / then.step_ns : 0;
  const double error = kErrors * (now.error + then.error);
  if (gain > std::max(kWorth, error)) {
    watch.failures = 0;
    begin_window(watch, WatchPhase::kWatch, seen);
    return std::nullopt;
  }
  watch.rest_until_ns = seen.time_ns + (kRestNs << std::min(watch.failures, kMostDoublings));
  ++watch.failures;
  watch.asked = 0;
  watch.phase = WatchPhase::kReturn;
  state.say("io_depth %d was not worth it: step %+.1f %%; back to %d", seen.settings[KnobId::kIoDepth], -gain * 100,
            watch.before[KnobId::kIoDepth]);
  return with_depths(seen.settings, watch.before);
}

}  // namespace

std::optional<Settings> watch_depths(DepthWatch& watch, const Observation& seen, PolicyState& state) {
  if (watch.phase == WatchPhase::kBegin || is_another(read_mark(seen), watch.mark) ||
      seen.workers.wall_ns < watch.workers_ns) {
    begin_window(watch, WatchPhase::kWatch, seen);
    return std::nullopt;
  }
  if (watch.phase == WatchPhase::kWatch || watch.phase == WatchPhase::kJudge) {
    watch.window.add(seen);
    if (!watch.window.complete()) return std::nullopt;
    return watch.phase == WatchPhase::kWatch ? look(watch, seen, state) : judge(watch, seen, state);
  }
  const bool moves = watch.phase == WatchPhase::kMove;
  const Settings wanted =
      moves ? deep_enough(seen.settings, watch.metered, state.limits) : with_depths(seen.settings, watch.before);
  if (wanted == seen.settings || ++watch.asked > kMostAsked) {
    begin_window(watch, moves ? WatchPhase::kJudge : WatchPhase::kWatch, seen);
    return std::nullopt;
  }
  if (moves) {
    state.say("%.0f samples/s, whose reads take %.2f ms by now, are %.1f reads at once", watch.metered.rate,
              watch.metered.latency_s * 1e3, watch.metered.reads());
  }
  return wanted;
}

}  // namespace drapps
