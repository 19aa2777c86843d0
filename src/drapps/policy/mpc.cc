#include "drapps/policy/mpc.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <utility>

#include "drapps/plant/knob_range.h"
#include "drapps/plant/meter_observation.h"
#include "drapps/policy/depth_watch.h"
#include "drapps/policy/stage_times.h"
#include "drapps/policy/start.h"
#include "drapps/sim/costs.h"
#include "drapps/sim/fluid_plant.h"
#include "drapps/sim/world_json.h"

namespace drapps {
namespace {

using sim::World;

constexpr double kQueued = 1.5;    // times the shortest read, from which reads wait for each other
constexpr double kForget = 1.02;   // by which the shortest read is believed less in each decision
constexpr double kAsMany = 0.999;  // of the samples: no fewer
constexpr double kReserve = 1.3;   // times the worker processes that fill the cores

/// What it remembers. Zero bytes are the beginning.
struct Fitted {
  StageTimes times;
  double shortest;   // s of a read
  double bandwidth;  // bytes/s where reads wait for each other; 0: they do not
  Start start;
  DepthWatch watch;
};
static_assert(std::is_trivially_copyable_v<Fitted> && sizeof(Fitted) <= kPolicyMemory);

void look_at_reads(Fitted& known, const Settings& settings) noexcept {
  const StageTimes& times = known.times;
  if (times.read <= 0 || times.reads <= 0) return;
  known.shortest = known.shortest > 0 ? std::min(known.shortest * kForget, times.read) : times.read;
  const double in_flight = times.read * times.reads;  // by Little's law
  const bool deep = in_flight > 0.5 * settings[KnobId::kIoDepth];
  known.bandwidth = deep && times.read > kQueued * known.shortest ? times.reads * times.bytes : 0;
}

/// The depths that the start and then the watch ask for, which follow what reads take: the model knows a mean alone.
std::optional<Settings> depths(Fitted& known, const Observation& seen, PolicyState& state) {
  if (known.start.phase == Start::StartPhase::kEnded) return watch_depths(known.watch, seen, state);
  return start_depths(known.start, seen, state);
}

/// Worker processes that fill the cores, where each waits for something else between; 0 where that is not known.
double filling(const StageTimes& times, const Limits& limits) noexcept {
  return times.cpu > 0 ? std::ceil(limits.cpus * (times.cpu + times.sleep) / times.cpu) : 0;
}

/// s of a training step alone, of which the world knows what makes it longer: samples that accelerators prepare, busy
/// cores, other ranks.
double step_alone(World world, double measured, const Observation& observation) noexcept {
  const std::size_t use = place_of(kPlaces.cpu.use_mean);
  const double busy = observation.meters.has(use) ? std::clamp(observation.meters.value(use), 0.0, 1.0) : 0;
  const double gpu = sim::cost_of(world, observation.settings, {}).gpu * world.workload.batch;
  world.consumer.step = 1;
  return std::max(0.0, measured - gpu) / sim::step_of(world, {}, busy, /*speed=*/1);
}

/// Brings a calibration's service times to what samples take now.
void measure(World& world, const StageTimes& times, const Settings& settings) noexcept {
  const double believed = sim::cost_of(world, settings, {}).cpu_sum;
  if (believed > 0 && times.cpu > 0) {
    for (sim::StageCost& stage : world.workload.stages) stage.cpu *= times.cpu / believed;
  }
  if (world.in_processes()) world.workload.stages[sim::kPythonStage].sleep = times.sleep;
}

/// The plant as it is known.
World world_of(const Fitted& known, const World* calibrated, const Limits& limits,
               const Observation& observation) noexcept {
  World world = calibrated != nullptr ? *calibrated : World{};
  const StageTimes& times = known.times;
  world.workload.batch = std::max(1.0, times.rows);
  world.workload.samples = 1e12;  // an epoch does not end within the horizon
  world.workload.noise = 0;
  world.consumer.pause_every = 0;
  world.machine.memory.limit = 1e18;  // the plant's limits bind, not the model's
  world.machine.memory.process = 0;
  world.machine.memory.cache = 0;
  if (calibrated == nullptr) {
    world.machine.cores = {.count = std::max(1.0, limits.cpus), .budget = 0, .foreign = 0, .oversubscription = 0.02};
    const sim::WorkStage stage = limits[KnobId::kProcesses] != Bounds{} ? sim::kPythonStage : sim::kDecodeStage;
    world.workload.stages[stage] = {.cpu = times.cpu, .sleep = times.sleep, .gpu = 0, .cv = 0};
  } else {
    measure(world, times, observation.settings);
  }
  world.consumer.step = step_alone(world, times.train * world.workload.batch, observation);
  if (times.read > 0) {
    // A sample takes `share` of a mean read here: samples that are in some memory are not read.
    const double alone = known.bandwidth > 0 ? known.shortest : times.read;
    world.workload.sample_bytes = std::max(1.0, times.bytes * times.share);
    const double ranks = world.machine.ranks.count;  // what is measured is this one's share
    world.machine.storage = {.bandwidth = known.bandwidth * ranks, .connection = 0, .latency = alone * times.share};
  }
  return world;
}

/// What a setting costs that is not needed: the memory of processes, the money of remote machines. Threads, reads and
/// batches ahead cost nothing, and are a reserve where the step becomes shorter or the storage slower.
double expense(const Settings& settings) noexcept {
  return settings[KnobId::kProcesses] + settings[KnobId::kRemoteWorkers];
}

/// Rolls moves forward, and keeps the best.
class Search {
 public:
  Search(const World& world, const Limits& limits, const Settings& now, double horizon)
      : scenario_(sim::stationary(world, horizon)), limits_(limits), now_(now) {
    staying_ = samples(now);
    best_ = cheapest_ = now;
    most_ = staying_;
  }

  void look(std::span<const KnobId> knobs) {
    for (std::size_t i = 0; i < knobs.size(); ++i) {
      for (const bool up : {true, false}) {
        const Settings one = moved(now_, knobs[i], up);
        if (one == now_) continue;
        consider(one);
        for (std::size_t j = i + 1; j < knobs.size(); ++j) {
          const Settings two = moved(one, knobs[j], up);
          if (two != one) consider(two);
        }
      }
    }
  }

  /// So many worker processes at once: where samples wait long, notches would take longer than they do.
  void look_at(double processes) {
    Settings many = now_;
    const KnobRange range = range_of(KnobId::kProcesses, limits_);
    many[KnobId::kProcesses] = range.fit(static_cast<std::int32_t>(std::min(processes, 1e6)));
    if (many[KnobId::kProcesses] > now_[KnobId::kProcesses]) consider(many);
  }

  double staying() const noexcept { return staying_; }
  double most() const noexcept { return most_; }
  const Settings& best() const noexcept { return best_; }
  /// The settings of the least expense among those that take as many samples as staying.
  const Settings& cheapest() const noexcept { return cheapest_; }

 private:
  double samples(const Settings& settings) const {
    sim::FluidPlant plant(scenario_, now_);
    plant.apply(settings);  // what begins to work later does so in the model
    plant.advance(scenario_.seconds);
    return plant.totals().samples;
  }

  Settings moved(Settings settings, KnobId id, bool up) const {
    const KnobRange range = range_of(id, limits_);
    settings[id] = up ? range.up(settings[id]) : range.down(settings[id]);
    return settings;
  }

  void consider(const Settings& settings) {
    const double taken = samples(settings);
    if (taken > most_) {
      most_ = taken;
      best_ = settings;
    }
    if (taken >= kAsMany * staying_ && expense(settings) < expense(cheapest_)) cheapest_ = settings;
  }

  sim::Scenario scenario_;
  const Limits& limits_;
  const Settings now_;
  Settings best_, cheapest_;
  double staying_ = 0, most_ = 0;
};

}  // namespace

Result<std::unique_ptr<Policy>> Mpc::make(const PolicyConfig& config) {
  std::unique_ptr<const World> world;
  if (!config.weights.empty()) {
    const std::string_view text(reinterpret_cast<const char*>(config.weights.data()), config.weights.size());
    auto read = sim::world_from_json(nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false));
    if (!read.ok()) return invalid("the weights of policy mpc are no calibration: " + read.error().message);
    world = std::make_unique<const World>(*read);
  }
  return std::unique_ptr<Policy>(new Mpc(config, std::move(world)));
}

bool Mpc::knows(const PolicyState& state) const noexcept {
  const auto known = state.load<Fitted>();
  // A window begins with a bool.
  if (!state.is_bool(offsetof(Fitted, watch) + offsetof(DepthWatch, window))) return false;
  if (known.start.phase > Start::StartPhase::kEnded || known.watch.phase > DepthWatch::DepthPhase::kReturn)
    return false;
  return known.times.sound() && known.shortest >= 0 && known.bandwidth >= 0 && known.shortest < 1e9 &&
         known.bandwidth < 1e18;
}

Settings Mpc::decide(const Observation& observation, PolicyState& state) const {
  auto known = state.load<Fitted>();
  known.times.take(observation, memory_);
  look_at_reads(known, observation.settings);
  const std::optional<Settings> deep = depths(known, observation, state);
  state.store(known);
  if (deep && *deep != observation.settings) return *deep;
  if (!known.times.known()) {
    state.say("nothing is measured yet");
    return observation.settings;
  }
  const World world = world_of(known, world_.get(), state.limits, observation);
  Search search(world, state.limits, observation.settings, horizon_);
  constexpr std::array kMeasured{KnobId::kWorkers, KnobId::kProcesses, KnobId::kIoDepth, KnobId::kPrefetchDepth};
  constexpr std::array kCalibrated{KnobId::kWorkers,       KnobId::kProcesses,   KnobId::kIoDepth,
                                   KnobId::kPrefetchDepth, KnobId::kDecodeOnGpu, KnobId::kAugmentOnGpu,
                                   KnobId::kRemoteWorkers};
  search.look(world_ == nullptr ? std::span<const KnobId>(kMeasured) : std::span<const KnobId>(kCalibrated));
  const double filled = state.limits[KnobId::kProcesses] != Bounds{} ? filling(known.times, state.limits) : 0;
  if (filled > 0) search.look_at(filled);
  const double gain = search.staying() > 0 ? search.most() / search.staying() - 1 : 0;
  const char* const model = world_ == nullptr ? "fitted to what is observed" : "calibrated";
  if (gain > gain_) {
    state.say("the model, %s, sees %.1f %% more samples", model, gain * 100);
    return search.best();
  }
  // What a sample waits for is never known so well that a few processes more than fill the cores are too many.
  const bool spare = observation.settings[KnobId::kProcesses] >= kReserve * filled;
  if (search.cheapest() != observation.settings && spare) {
    state.say("the model, %s, sees as many samples with less", model);
    return search.cheapest();
  }
  state.say("the model, %s, sees nothing better", model);
  return observation.settings;
}

}  // namespace drapps
