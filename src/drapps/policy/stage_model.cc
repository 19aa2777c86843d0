#include "drapps/policy/stage_model.h"

#include <algorithm>
#include <cmath>

#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

/// Sums that were seen last, and what a sample takes in the mean of the last decisions, in s. Zero bytes are the
/// beginning.
struct Seen {
  std::uint64_t samples, batches, step_ns, stall_ns, cpu_ns, wall_ns, reads, read_ns;
  double cpu, sleep, read, train, rows;
};
static_assert(std::is_trivially_copyable_v<Seen> && sizeof(Seen) <= kPolicyMemory);

bool makes_samples(const Lane& lane) noexcept {
  return lane.device == LaneDevice::kCpu && lane.role != LaneRole::kFetch && lane.role != LaneRole::kTransfer;
}

Seen sums_of(const Observation& seen) noexcept {
  Seen now{};
  now.samples = seen.samples;
  now.batches = seen.batches;
  now.step_ns = seen.consumer.step.sum;
  now.stall_ns = seen.consumer.stall.sum;
  now.reads = seen.storage.waited.count;
  now.read_ns = seen.storage.waited.sum;
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (!makes_samples(kLanes[i])) continue;
    now.cpu_ns += seen.lanes[i].service_cpu.sum;
    now.wall_ns += seen.lanes[i].service_wall.sum;
  }
  return now;
}

bool goes_on(const Seen& now, const Seen& before) noexcept {
  return now.samples >= before.samples && now.batches >= before.batches && now.step_ns >= before.step_ns &&
         now.stall_ns >= before.stall_ns && now.cpu_ns >= before.cpu_ns && now.wall_ns >= before.wall_ns &&
         now.reads >= before.reads && now.read_ns >= before.read_ns;
}

double seconds(std::uint64_t now, std::uint64_t before) noexcept { return static_cast<double>(now - before) * 1e-9; }

/// Takes the stretch between the two into what is remembered.
void take_in(Seen& now, const Seen& before, double memory) noexcept {
  now.cpu = before.cpu;
  now.sleep = before.sleep;
  now.read = before.read;
  now.train = before.train;
  now.rows = before.rows;
  const auto samples = static_cast<double>(now.samples - before.samples);
  const auto batches = static_cast<double>(now.batches - before.batches);
  if (samples <= 0 || batches <= 0) return;
  const double weight = before.train > 0 ? 1 / memory : 1;
  const auto mix = [&](double& value, double fresh) { value += weight * (std::max(0.0, fresh) - value); };
  const double cpu = seconds(now.cpu_ns, before.cpu_ns) / samples;
  mix(now.cpu, cpu);
  mix(now.sleep, seconds(now.wall_ns, before.wall_ns) / samples - cpu);
  if (now.reads > before.reads) {
    mix(now.read, seconds(now.read_ns, before.read_ns) / static_cast<double>(now.reads - before.reads));
  }
  mix(now.train, (seconds(now.step_ns, before.step_ns) - seconds(now.stall_ns, before.stall_ns)) / samples);
  mix(now.rows, samples / batches);
}

/// s that the training waits for a sample.
double wait_of(const Seen& seen, const Settings& settings, double cores) noexcept {
  const double makers = std::max({1, settings[KnobId::kWorkers], settings[KnobId::kProcesses]});
  const double on_cores = seen.cpu / std::max(1.0, std::min(makers, cores));
  const double made = std::max(on_cores, (seen.cpu + seen.sleep) / makers);
  const double produced = std::max(made, seen.read / std::max(1, settings[KnobId::kIoDepth]));
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

bool StageModel::knows(const PolicyState& state) const noexcept {
  const auto seen = state.load<Seen>();
  const auto fits = [](double value) { return std::isfinite(value) && value >= 0; };
  return fits(seen.cpu) && fits(seen.sleep) && fits(seen.read) && fits(seen.train) && fits(seen.rows);
}

Settings StageModel::decide(const Observation& observation, PolicyState& state) const {
  const auto before = state.load<Seen>();
  Seen now = sums_of(observation);
  if (goes_on(now, before)) take_in(now, before, memory_);
  state.store(now);
  if (now.rows <= 0) {
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
  state.say("a sample: %.2f ms of a core, %.2f ms a read, %.2f ms of training, waits %.3f ms", now.cpu * 1e3,
            now.read * 1e3, now.train * 1e3, wait * 1e3);
  return settings;
}

}  // namespace drapps
