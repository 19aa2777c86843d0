#include "drapps/training/episodes.h"

#include <algorithm>
#include <array>
#include <utility>

#include "drapps/base/exact_math.h"
#include "drapps/base/philox.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/initial.h"
#include "drapps/sim/fluid_plant.h"
#include "drapps/sim/random_worlds.h"

namespace drapps::training {
namespace {

constexpr double kWarmUp = 3, kMeasured = 5;  // s
constexpr int kSweeps = 3, kDrawn = 4;
constexpr double kFaster = 1.002;  // what is less is no difference
constexpr std::uint16_t kOrdinalEpisode = 7, kOrdinalSearch = 9;

double drawn_between(Draws& draws, double low, double high) {
  return low * exact::exp(draws.uniform() * exact::log(high / low));
}

Settings begun_in(const sim::World& world) {
  return initial_settings(sim::limits_of(world),
                          static_cast<std::size_t>(world.workload.batch * world.workload.row_bytes));
}

/// The world after one of the events that it can meet.
sim::World after_event(sim::World world, Draws& draws) {
  auto& workload = world.workload;
  auto& machine = world.machine;
  const double gpu = drawn_between(draws, 1.3, 2.5);
  switch (draws.below(6)) {
    case 0: machine.cores.foreign += machine.cores.count * draws.uniform(0.25, 1.5); break;
    case 1:
      if (auto& python = workload.stages[sim::kPythonStage]; python.cpu > 0) {
        python.sleep = python.sleep > 0 && draws.coin(0.5) ? 0 : drawn_between(draws, 1e-3, 0.1);
        break;
      }
      if (machine.storage.bandwidth > 0) {
        machine.storage.bandwidth *= drawn_between(draws, 0.15, 0.5);
        machine.storage.latency *= drawn_between(draws, 1, 10);
        break;
      }
      [[fallthrough]];
    case 2: world.consumer.step *= drawn_between(draws, 0.35, 3); break;
    case 3: {
      const double size = drawn_between(draws, 0.4, 3.5);
      workload.sample_bytes *= size;
      for (auto& stage : workload.stages) stage.cpu *= size;
      for (auto& stage : workload.stages) stage.gpu *= size;
      break;
    }
    case 4:
      if (machine.gpu.count > 0) {
        world.consumer.step *= gpu;
        for (auto& stage : workload.stages) stage.gpu *= gpu;
        break;
      }
      [[fallthrough]];
    default: machine.cores.budget = machine.cores.count * draws.uniform(0.25, 0.75); break;
  }
  return world;
}

Episode made_episode(const EpisodeOptions& options, std::uint64_t number, std::span<const KnobId> knobs) {
  Draws draws({.seed = options.seed, .position = number}, kOrdinalEpisode);
  const bool like = options.world && draws.coin(options.like);
  sim::World world = like ? sim::world_like(*options.world, options.spread, draws) : sim::random_world(draws);
  while (!options.processes && world.in_processes()) world = sim::random_world(draws);
  world.workload.noise = drawn_between(draws, 0.03, 0.2);
  world.machine.storage.latency *= options.later_reads;
  for (auto& stage : world.workload.stages) stage.gpu *= options.slower_gpu;
  Episode episode{
      .scenario = sim::stationary(world, options.seconds, number + 1), .initial = begun_in(world), .best = {}};
  if (draws.coin(options.happens)) {
    const double begin = options.seconds * draws.uniform(0.3, 0.6);
    episode.scenario.segments.push_back({.begin = begin, .world = after_event(world, draws), .name = "after"});
  }
  for (const sim::Segment& segment : episode.scenario.segments) {
    const Settings begin = episode.best.empty() ? episode.initial : episode.best.back();
    episode.best.push_back(search_settings(segment.world, begin, knobs));
    episode.rates.push_back(held_rate(segment.world, episode.best.back()));
    episode.held.push_back(held_rate(segment.world, episode.best.front()));
  }
  return episode;
}

struct RatedSettings {
  Settings settings;
  double rate = 0;
};

/// Calls visit(tried) with each value of a knob, from the lowest on, until it returns true.
template <class Visit>
void each_value(const sim::World& world, const Limits& limits, KnobId id, const Settings& settings,
                const Visit& visit) {
  const KnobRange range = range_of(id, limits);
  if (range.low() == range.high()) return;
  RatedSettings tried{settings};
  for (std::int32_t value = range.low();; value = range.up(value)) {
    tried.settings[id] = value;
    tried.rate = held_rate(world, tried.settings);
    if (visit(tried) || value == range.high()) return;
  }
}

}  // namespace

double held_rate(const sim::World& world, const Settings& settings) {
  sim::World steady = world;
  steady.workload.noise = 0;
  sim::FluidPlant plant(sim::stationary(steady, kWarmUp + kMeasured), settings);
  plant.advance(kWarmUp);
  const double before = plant.totals().samples;
  plant.advance(kMeasured);
  return (plant.totals().samples - before) / kMeasured;
}

Settings search_settings(const sim::World& world, const Settings& begin, std::span<const KnobId> knobs) {
  const Limits limits = sim::limits_of(world);
  Settings plenty = fit_settings(begin, limits);
  for (const KnobId id : {KnobId::kIoDepth, KnobId::kPrefetchDepth}) {
    if (std::ranges::find(knobs, id) != knobs.end()) plenty[id] = range_of(id, limits).high();
  }
  const auto cores = static_cast<std::int32_t>(limits.cpus);
  for (const KnobId id : {KnobId::kWorkers, KnobId::kProcesses}) {
    if (std::ranges::find(knobs, id) != knobs.end()) plenty[id] = range_of(id, limits).fit(cores);
  }
  std::vector<Settings> begins{fit_settings(begin, limits), plenty};
  Draws draws({.seed = 1}, kOrdinalSearch);
  for (int i = 0; i < kDrawn; ++i) {
    const Settings any = sim::random_settings(limits, draws);
    begins.push_back(begins.front());
    for (const KnobId id : knobs) begins.back()[id] = any[id];
  }
  RatedSettings best{begin, -1};
  for (const Settings& from : begins) {
    RatedSettings local_best{from, held_rate(world, from)};
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      const Settings before = local_best.settings;
      for (const KnobId id : knobs) {
        each_value(world, limits, id, Settings(local_best.settings), [&](const RatedSettings& tried) {
          if (tried.rate > local_best.rate * kFaster) local_best = tried;
          return false;
        });
      }
      if (local_best.settings == before) break;
    }
    if (local_best.rate > best.rate) best = local_best;
  }
  // Of values that are as good the least is taken.
  for (const KnobId id : knobs) {
    each_value(world, limits, id, Settings(best.settings), [&](const RatedSettings& tried) {
      if (tried.rate * kFaster < best.rate) return false;
      best = tried;
      return true;
    });
  }
  return best.settings;
}

std::vector<Episode> make_episodes(const EpisodeOptions& options, std::span<const KnobId> knobs) {
  std::vector<Episode> episodes;
  episodes.reserve(options.count);
  for (std::size_t i = 0; i < options.count; ++i) episodes.push_back(made_episode(options, i, knobs));
  return episodes;
}

}  // namespace drapps::training
