#include "drapps/policy/depth_watch.h"

#include <algorithm>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/start.h"

namespace drapps {
namespace {

using WatchPhase = DepthWatch::DepthPhase;

constexpr double kTrainingWaits = 0.1;  // share of the training's time
constexpr double kWorkersWait = 0.2;    // share of the workers' time
constexpr double kRefused = 0.05;       // refusals to a read
constexpr double kWorth = 0.05;         // of a step
constexpr double kErrors = 2;           // standard errors of both windows
constexpr std::uint64_t kOneReadNs = 1'000'000'000;
constexpr std::uint64_t kRefusedReadNs = 5'000'000'000;
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
  return watch.window.measure().stall >= kTrainingWaits && storage >= kWorkersWait * workers;
}

/// The depths of `to`, with all else as it stands.
Settings with_depths(Settings settings, const Settings& to) {
  for (const KnobId id : {KnobId::kIoDepth, KnobId::kPrefetchDepth}) settings[id] = to[id];
  return settings;
}

bool refuses(const DepthWatch& watch, const ReadMark& now) {
  return static_cast<double>(now.refusals - watch.mark.refusals) >
         kRefused * static_cast<double>(now.reads - watch.mark.reads);
}

/// Settings that the window asks for; those in force where it asks for nothing. With the reads that it metered, or
/// none.
Settings asked_for(const DepthWatch& watch, const Observation& seen, const Limits& limits, ReadMeter& metered) {
  const ReadMark now = read_mark(seen);
  if (refuses(watch, now)) {
    if (seen.time_ns < watch.fewer.until_ns) return seen.settings;
    Settings fewer = seen.settings;
    fewer[KnobId::kIoDepth] = range_of(KnobId::kIoDepth, limits).down(fewer[KnobId::kIoDepth]);
    return fewer;
  }
  if (now.refusals > watch.mark.refusals || seen.time_ns < watch.more.until_ns) return seen.settings;
  const auto meter = meter_reads(watch.mark, seen, limits);
  if (!meter) return seen.settings;
  metered = *meter;
  return deep_enough(seen.settings, metered, limits);
}

/// A window is over in which nothing was moved.
std::optional<Settings> look(DepthWatch& watch, const Observation& seen, PolicyState& state) {
  const bool asks = seen.turn == Turn::kOpen && waits_for_storage(watch, seen);
  watch.metered = {};
  watch.wanted = asks ? asked_for(watch, seen, state.limits, watch.metered) : seen.settings;
  if (watch.wanted == seen.settings) {
    begin_window(watch, WatchPhase::kWatch, seen);
    return std::nullopt;
  }
  watch.mark = read_mark(seen);
  watch.measured = watch.window.measure();
  watch.before = seen.settings;
  watch.asked = 0;
  watch.phase = WatchPhase::kMove;
  return watch_depths(watch, seen, state);
}

/// The move was not worth it.
Settings go_back(DepthWatch& watch, const Observation& seen) {
  DepthWatch::Rest& rest = watch.metered.rate > 0 ? watch.more : watch.fewer;
  rest.until_ns = seen.time_ns + (kRestNs << std::min(rest.failures, kMostDoublings));
  ++rest.failures;
  watch.asked = 0;
  watch.phase = WatchPhase::kReturn;
  return with_depths(seen.settings, watch.before);
}

std::optional<Settings> judge(DepthWatch& watch, const Observation& seen, PolicyState& state) {
  const StepMeasure now = watch.window.measure();
  const StepMeasure& then = watch.measured;
  const double gain = then.sample_ns > 0 ? 1 - now.sample_ns / then.sample_ns : 0;
  if (gain <= std::max(kWorth, kErrors * (now.error + then.error))) {
    state.say("io_depth %d was not worth it: step %+.1f %%", seen.settings[KnobId::kIoDepth], -gain * 100);
    return go_back(watch, seen);
  }
  (watch.metered.rate > 0 ? watch.more : watch.fewer).failures = 0;
  if (watch.metered.rate <= 0) watch.more.until_ns = seen.time_ns + kRestNs;
  begin_window(watch, WatchPhase::kWatch, seen);
  return std::nullopt;
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
  if (watch.phase == WatchPhase::kSettle) {
    if (seen.time_ns >= watch.settled_ns) begin_window(watch, WatchPhase::kJudge, seen);
    return std::nullopt;
  }
  if (watch.phase == WatchPhase::kMove && watch.metered.rate > 0 && refuses(watch, read_mark(seen))) {
    state.say("the storage refuses requests: no more reads at once");
    return go_back(watch, seen);
  }
  const bool moves = watch.phase == WatchPhase::kMove;
  const Settings wanted = with_depths(seen.settings, moves ? watch.wanted : watch.before);
  if (wanted == seen.settings || ++watch.asked > kMostAsked) {
    begin_window(watch, moves ? WatchPhase::kSettle : WatchPhase::kWatch, seen);
    watch.settled_ns = seen.time_ns + (watch.metered.rate > 0 ? kOneReadNs : kRefusedReadNs);
    return std::nullopt;
  }
  if (!moves) {
    state.say("io_depth goes back to %d", wanted[KnobId::kIoDepth]);
  } else if (watch.metered.rate > 0) {
    state.say("%.0f samples/s, whose reads take %.2f ms by now, are %.1f reads at once", watch.metered.rate,
              watch.metered.latency_s * 1e3, watch.metered.reads());
  } else {
    state.say("the storage refuses requests: fewer reads at once");
  }
  return wanted;
}

}  // namespace drapps
