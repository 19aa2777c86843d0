// What a decision costs: the look at the plant, the features, the policy and the guard.
#include <benchmark/benchmark.h>

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "drapps/base/clock.h"
#include "drapps/control/live_plant.h"
#include "drapps/control/meters.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/plant/features.h"
#include "drapps/policy/decider.h"
#include "drapps/policy/initial.h"
#include "drapps/policy/registry.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

/// A pass over 10,000 small pictures in batches of 64, of which some were taken.
struct LivePass {
  LivePass() {
    const std::vector<MemorySource::Bytes> records(10'000, picture);
    source = *MemorySource::make(records, nullptr);
    PipelineSpec spec;
    spec.parts = {testing_pictures::picture_part({.ops = {CenterCrop{.height = 8, .width = 8}}})};
    spec.sampler.batch = 64;
    spec.sampler.shuffle = true;
    plan = *Plan::make(spec, *source);
    limits = live_limits(*plan, engine, nullptr);
    settings = initial_settings(limits);
    plant = std::make_shared<LivePlant>(engine, source->shared_storage(), settings, limits);
    runner = *make_runner({.plan = plan,
                           .source = source,
                           .sampler = *Sampler::make(plan->spec.sampler, 0, 0),
                           .settings = settings,
                           .engine = engine,
                           .arena = nullptr});
    plant->attach(*runner, limits);
    for (int i = 0; i < 8; ++i) static_cast<void>(runner->next(std::chrono::seconds(60)));
  }
  ~LivePass() { plant->detach(*runner); }

  Engine& engine = Engine::get();
  std::vector<std::uint8_t> picture = testing_pictures::png(20, 24, 1);
  std::shared_ptr<Source> source;
  std::shared_ptr<const Plan> plan;
  Limits limits;
  Settings settings;
  std::shared_ptr<LivePlant> plant;
  std::unique_ptr<Runner> runner;
};

void counters(benchmark::State& state) {
  const LivePass pass;
  for (auto _ : state) benchmark::DoNotOptimize(pass.plant->counters());
}

void observe(benchmark::State& state) {
  const LivePass pass;
  for (auto _ : state) benchmark::DoNotOptimize(pass.plant->observe());
}

void look_ahead(benchmark::State& state) {
  const LivePass pass;
  for (auto _ : state) benchmark::DoNotOptimize(pass.runner->upcoming());
}

void time_of_workers(benchmark::State& state) {
  const LivePass pass;
  for (auto _ : state) benchmark::DoNotOptimize(pass.engine.workers().times());
}

void make_features(benchmark::State& state) {
  const LivePass pass;
  const Observation before = pass.plant->observe();
  const Observation now = pass.plant->observe();
  for (auto _ : state) benchmark::DoNotOptimize(features(now, before, pass.limits));
}

/// The policy and the guard.
void decide(benchmark::State& state) {
  const LivePass pass;
  Decider decider(*make_policy({.name = "hill_climb"}), pass.limits);
  for (auto _ : state) benchmark::DoNotOptimize(decider.decide(pass.plant->observe(), monotonic_ns));
}

/// All meters but those on the slow thread; told that half a second has passed, so that none leaves anything out.
void read_meters(benchmark::State& state) {
  Meters meters;
  std::uint64_t now_ns = monotonic_ns();
  for (auto _ : state) benchmark::DoNotOptimize(meters.read(now_ns += 500'000'000));
}

/// What the control thread does in a second in which one loader runs: ten looks at its counters, two decisions with all
/// that they look at. The counter is the share of a core that this takes.
void a_second_of_control(benchmark::State& state) {
  const LivePass pass;
  Meters meters;
  std::uint64_t now_ns = monotonic_ns();
  Decider decider(*make_policy({.name = "hill_climb"}), pass.limits);
  const std::uint64_t begun = thread_cpu_ns();
  for (auto _ : state) {
    for (int look = 0; look < 10; ++look) benchmark::DoNotOptimize(pass.plant->counters());
    for (int decision = 0; decision < 2; ++decision) {
      Observation seen = pass.plant->observe();
      now_ns += 500'000'000;
      seen.meters = observation_of(meters.read(now_ns), now_ns);
      benchmark::DoNotOptimize(decider.decide(seen, monotonic_ns));
    }
  }
  state.counters["share_of_core"] =
      1e-9 * static_cast<double>(thread_cpu_ns() - begun) / static_cast<double>(state.iterations());
}

BENCHMARK(counters);
BENCHMARK(observe);
BENCHMARK(look_ahead);
BENCHMARK(time_of_workers);
BENCHMARK(make_features);
BENCHMARK(decide)->Name("observe_and_decide");
BENCHMARK(read_meters);
BENCHMARK(a_second_of_control);

}  // namespace
}  // namespace drapps
