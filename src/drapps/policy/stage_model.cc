#include "drapps/policy/stage_model.h"

#include <algorithm>
#include <cmath>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/stage_times.h"

namespace drapps {
namespace {

/// s that the training waits for a sample.
double wait_of(const StageTimes& seen, const Settings& settings, double cores) noexcept {
  const double makers = std::max({1, settings[KnobId::kWorkers], settings[KnobId::kProcesses]});
  const double on_cores = seen.cpu / std::max(1.0, std::min(makers, cores));
  const double preparation = std::max(on_cores, (seen.cpu + seen.sleep) / makers);
  const double produced = std::max(preparation, seen.read * seen.share / std::max(1, settings[KnobId::kIoDepth]));
  const double buffer = std::max(1.0, settings[KnobId::kPrefetchDepth] * seen.rows);
  if (produced <= 0) return 0;
  if (seen.train <= 0) return produced;
  // Whether the buffer is empty when a sample is asked for: a queue M/M/1/n.
  const double load = std::min(produced, seen.train) / std::max(produced, seen.train);
  const double left = 1 - std::pow(load, buffer + 1);
  double empty = 1 / (buffer + 1);
  if (left > 1e-9) empty = (produced < seen.train ? std::pow(load, buffer) : 1) * (1 - load) / left;
  return empty * produced;
}

}  // namespace

bool StageModel::knows(const PolicyState& state) const noexcept { return state.load<StageTimes>().sound(); }

Settings StageModel::decide(const Observation& observation, PolicyState& state) const {
  auto now = state.load<StageTimes>();
  now.take(observation, memory_);
  state.store(now);
  if (!now.known()) {
    state.say("nothing is measured yet");
    return observation.settings;
  }
  constexpr std::array kMoved{KnobId::kWorkers, KnobId::kProcesses, KnobId::kIoDepth, KnobId::kPrefetchDepth};
  Settings settings = observation.settings;
  for (const KnobId id : kMoved) settings[id] = range_of(id, state.limits).low();
  double wait = wait_of(now, settings, state.limits.cpus);
  while (wait > wait_ * now.train) {
    Settings best = settings;
    double shortest = wait;
    for (const KnobId id : kMoved) {
      Settings next = settings;
      next[id] = range_of(id, state.limits).up(next[id]);
      const double shorter = wait_of(now, next, state.limits.cpus);
      if (shorter >= shortest * (1 - 1e-9)) continue;
      shortest = shorter;
      best = next;
    }
    if (best == settings) break;
    settings = best;
    wait = shortest;
  }
  state.say("a sample: %.2f ms of a core, %.2f ms of reads, %.2f ms of training, waits %.3f ms", now.cpu * 1e3,
            now.read * now.share * 1e3, now.train * 1e3, wait * 1e3);
  return settings;
}

}  // namespace drapps
