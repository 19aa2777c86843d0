#include <benchmark/benchmark.h>

#include "drapps/sim/fluid_plant.h"
#include "drapps/sim/random_worlds.h"

namespace drapps::sim {
namespace {

World drawn_world(std::uint64_t seed) {
  Draws draws({.seed = seed}, 1);
  World world = random_world(draws);
  world.workload.noise = 0.1;
  return world;
}

/// Half a second of a plant, and its observation, under knobs that move each time.
void decision_step(benchmark::State& state) {
  const World world = drawn_world(static_cast<std::uint64_t>(state.range(0)));
  FluidPlant plant(stationary(world, 1e9), {});
  for ([[maybe_unused]] auto each : state) {
    Settings settings = plant.settings();
    settings[KnobId::kIoDepth] ^= 1;
    plant.apply(settings);
    plant.advance(0.5);
    benchmark::DoNotOptimize(plant.observe());
  }
}
BENCHMARK(decision_step)->Arg(1)->Arg(2)->Arg(3)->Arg(4);

void rates(benchmark::State& state) {
  const World world = drawn_world(static_cast<std::uint64_t>(state.range(0)));
  const Settings settings = FluidPlant(stationary(world, 60), {}).settings();
  for ([[maybe_unused]] auto each : state) benchmark::DoNotOptimize(rates_of(world, settings, {}));
}
BENCHMARK(rates)->Arg(1)->Arg(2)->Arg(3)->Arg(4);

}  // namespace
}  // namespace drapps::sim
