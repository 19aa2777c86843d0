#include <benchmark/benchmark.h>

#include <memory>

#include "drapps/policy/decider.h"
#include "drapps/policy/registry.h"
#include "drapps/sim/fluid_plant.h"
#include "drapps/sim/random_worlds.h"

namespace drapps::sim {
namespace {

/// A policy and its guard, half a second of a random plant after the decision before.
void decision(benchmark::State& state, const char* name) {
  Draws draws({.seed = 4}, 1);
  const World world = random_world(draws);
  FluidPlant plant(stationary(world, 1e9), {});
  PolicyConfig config;
  config.name = name;
  Decider decider(std::move(*make_policy(config)), plant.limits());
  const auto clock = [&] { return plant.counters().time_ns; };
  for ([[maybe_unused]] auto each : state) {
    state.PauseTiming();
    plant.advance(0.5);
    const Observation seen = plant.observe();
    state.ResumeTiming();
    benchmark::DoNotOptimize(decider.decide(seen, clock));
  }
}
BENCHMARK_CAPTURE(decision, hill_climb, "hill_climb");
BENCHMARK_CAPTURE(decision, rule, "rule");
BENCHMARK_CAPTURE(decision, aimd, "aimd");
BENCHMARK_CAPTURE(decision, model, "model");
BENCHMARK_CAPTURE(decision, mpc, "mpc");

}  // namespace
}  // namespace drapps::sim
