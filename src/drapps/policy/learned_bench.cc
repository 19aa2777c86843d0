#include <benchmark/benchmark.h>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/learned.h"

namespace drapps {
namespace {

/// A decision of a network of the default shape.
void learned_decision(benchmark::State& state) {
  LearnedNetwork network = *network_of(default_shape());
  rl::Random random(1);
  network.actor.begin(random, 1);
  const LearnedPolicy policy(std::move(network), "ppo");
  PolicyState remembered{.limits = native_limits(8, 64, 16, true)};
  Observation seen{.time_ns = 1'000'000'000, .settings = {.knobs = {4, 8, 4, 1}}};
  for ([[maybe_unused]] auto each : state) {
    seen.time_ns += 500'000'000;
    seen.samples += 640;
    seen.consumer.step.sum += 450'000'000;
    benchmark::DoNotOptimize(policy.decide(seen, remembered));
  }
}
BENCHMARK(learned_decision);

}  // namespace
}  // namespace drapps
