#include "drapps/control/simulation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/full_testing.h"
#include "drapps/plant/knob_range.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/decider.h"
#include "drapps/policy/registry.h"
#include "drapps/sim/fluid_plant.h"
#include "drapps/sim/random_worlds.h"
#include "drapps/sim/world_json.h"

namespace drapps::sim {
namespace {

/// The policies that the library has, but for what needs weights; other tests of this program have registered more.
std::vector<std::string_view> shipped_policies() {
  std::vector<std::string_view> names = policy_names();
  std::erase_if(names, [](std::string_view name) {
    const auto policy = make_policy({.name = std::string(name)});
    const bool weightless = !policy.ok() && policy.error().message.find("no weights of its own") != std::string::npos;
    return name == "faulty" || name.starts_with("random") || weightless;
  });
  return names;
}

std::unique_ptr<const Policy> policy_named(std::string_view name, bool judge = false) {
  PolicyConfig config;
  config.name = name;
  config.judge = judge;
  auto policy = make_policy(config);
  EXPECT_TRUE(policy.ok()) << name;
  return std::move(*policy);
}

double rate_of(const RunResult& result) {
  const Totals& totals = result.segments.back().totals;
  return totals.samples / totals.seconds;
}

/// A run's rate once it has found its pace.
double late_rate(const World& world, std::unique_ptr<const Policy> policy, const std::optional<Settings>& start) {
  Scenario scenario = stationary(world, 120);
  scenario.segments.push_back({.begin = 60, .world = world, .name = "late"});
  return rate_of(run(scenario, std::move(policy), start));
}

TEST(Simulation, PoliciesStayWithinTheirLimitsOnRandomPlants) {
  const std::uint64_t plants = full_tests() ? 10'000 : 100;
  for (const std::string_view name : shipped_policies()) {
    for (std::uint64_t seed = 0; seed < (name == "mpc" ? plants / 50 : plants); ++seed) {
      Draws draws({.seed = seed}, 1);
      World world = random_world(draws);
      world.workload.noise = 0.1;
      FluidPlant plant(stationary(world, 60), random_settings(limits_of(world), draws));
      Decider decider(policy_named(name), plant.limits());
      const auto clock = [&] { return plant.counters().time_ns; };
      std::array<bool, kKnobs> moved{};
      for (int i = 0; i < 20; ++i) {
        plant.advance(0.5);
        const Settings before = plant.settings();
        const Decision decision = decider.decide(plant.observe(), clock);
        ASSERT_EQ(decision.signals, Hold::kNone) << name << ", world " << seed << ": " << decision.fault.view();
        ASSERT_EQ(fit_settings(decision.applied, plant.limits()), decision.applied) << name << ", world " << seed;
        for (const Knob& knob : knob_table()) {
          const KnobRange range(knob, plant.limits());
          const std::int32_t notches = std::abs(range.place(decision.applied[knob.id]) - range.place(before[knob.id]));
          bool& has_moved = moved[static_cast<std::size_t>(knob.id)];
          const bool any = knob.step == KnobStep::kAny || (knob.step == KnobStep::kStart && !has_moved);
          ASSERT_TRUE(any || notches <= 1) << name << " moved " << knob.name << ", world " << seed;
          has_moved = has_moved || notches > 0;
        }
        plant.apply(decision.applied);
      }
    }
  }
}

TEST(Simulation, PoliciesHoldWhereSignalsAreWrong) {
  const std::vector<std::function<void(Observation&)>> faults{
      [](Observation& seen) { seen = {.settings = seen.settings}; },
      [stuck = Observation{}](Observation& seen) mutable {
        if (stuck.time_ns == 0) stuck = seen;
        const Settings settings = seen.settings;
        seen = stuck;
        seen.settings = settings;
      },
      [](Observation& seen) { seen.time_ns -= 3'000'000'000; },
      [](Observation& seen) { seen.time_ns += 3'000'000'000; },
      [](Observation& seen) { seen.batches /= 2; },
      [](Observation& seen) { seen.consumer.step.sum = 1; },
      [](Observation& seen) { seen.process_cpu_seconds = -1; },
      [](Observation& seen) { seen.process_cpu_seconds = std::nan(""); },
      [](Observation& seen) { seen.upcoming.sized = seen.upcoming.samples + 1; },
      [](Observation& seen) { seen.consumer.stall.p50 = seen.consumer.stall.p99 + 1; }};
  Draws draws({.seed = 4}, 1);
  World world = random_world(draws);
  world.machine.cores.count = 8;
  for (const std::string_view name : shipped_policies()) {
    for (const bool judge : {false, true}) {
      for (std::size_t fault = 0; fault < faults.size(); ++fault) {
        auto distort = faults[fault];
        FluidPlant plant(stationary(world, 200), random_settings(limits_of(world), draws));
        Decider decider(policy_named(name, judge), plant.limits());
        const auto clock = [&] { return plant.counters().time_ns; };
        for (int i = 0; i < 80; ++i) {
          plant.advance(0.5);
          Observation seen = plant.observe();
          const bool wrong = i % 8 > 5;
          if (wrong) distort(seen);
          const Decision decision = decider.decide(seen, clock);
          ASSERT_TRUE(!wrong || i < 8 || decision.applied == plant.settings())
              << name << (judge ? " with a judge" : "") << ", fault " << fault << ", decision " << i;
          plant.apply(decision.applied);
        }
      }
    }
  }
}

TEST(Simulation, NoPolicyBeatsTheBestSettingsOfAStationaryPlant) {
  // Whoever does has found a mistake of the simulator.
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    Draws draws({.seed = seed}, 7);
    World world = random_world(draws);
    world.machine.cores.count = 2 + static_cast<double>(draws.below(3));
    world.machine.gpu.count = 0;
    world.machine.remote = {};
    world.workload.split = 0;
    world.machine.memory.process = 2e9;
    const Limits limits = limits_of(world);
    double best = 0;
    std::size_t settings_tried = 0;
    const auto each = [&](KnobId id, const auto& visit) {
      const KnobRange range = range_of(id, limits);
      std::int32_t value = range.low();
      visit(value);
      while (value != range.high()) visit(value = range.up(value));
    };
    Settings settings = fit_settings({}, limits);
    each(KnobId::kWorkers, [&](std::int32_t workers) {
      each(KnobId::kProcesses, [&](std::int32_t processes) {
        each(KnobId::kIoDepth, [&](std::int32_t io_depth) {
          each(KnobId::kPrefetchDepth, [&](std::int32_t prefetch) {
            settings[KnobId::kWorkers] = workers;
            settings[KnobId::kProcesses] = processes;
            settings[KnobId::kIoDepth] = io_depth;
            settings[KnobId::kPrefetchDepth] = prefetch;
            best = std::max(best, late_rate(world, nullptr, settings));
            ++settings_tried;
          });
        });
      });
    });
    ASSERT_LE(settings_tried, 2000U);
    for (const std::string_view name : shipped_policies()) {
      EXPECT_LE(late_rate(world, policy_named(name), {}), best * 1.01) << name << ", world " << seed;
    }
  }
}

TEST(Simulation, ARunIsTheSameAgain) {
  Draws draws({.seed = 3}, 1);
  World world = random_world(draws);
  world.workload.noise = 0.2;
  const auto once = [&] { return run(stationary(world, 30), policy_named("hill_climb")); };
  const RunResult first = once();
  const RunResult second = once();
  EXPECT_EQ(first.decisions, second.decisions);
  EXPECT_EQ(rate_of(first), rate_of(second));
  EXPECT_EQ(first.segments.back().settings, second.segments.back().settings);
}

TEST(Simulation, EachSegmentHasWhatCameInIt) {
  World world;
  world.workload.stages[kDecodeStage].cpu = 1e-3;
  world.consumer.step = 0.1;
  Scenario scenario = stationary(world, 20);
  world.consumer.step = 0.2;
  scenario.segments.push_back({.begin = 10, .world = world, .name = "slower"});
  const RunResult result = run(scenario, nullptr);
  ASSERT_EQ(result.segments.size(), 2U);
  EXPECT_NEAR(result.segments[0].totals.samples / 10, 640, 10);
  EXPECT_NEAR(result.segments[1].totals.samples / 10, 320, 10);
  EXPECT_EQ(result.segments[1].name, "slower");
  EXPECT_NEAR(result.segments[1].totals.seconds, 10, 1e-6);
}

TEST(Simulation, HeldSettingsAreThoseOfEachSegmentFromItsBeginningOn) {
  World world;
  world.machine.cores.count = 8;
  world.workload.stages[kDecodeStage].cpu = 1e-3;
  Scenario scenario = stationary(world, 20);
  scenario.segments.push_back({.begin = 10, .world = world, .name = "more cores"});
  scenario.segments[0].world.machine.cores.budget = 2;
  std::vector<Settings> held(2, fit_settings({}, limits_of(world)));
  held[0][KnobId::kWorkers] = held[1][KnobId::kWorkers] = 8;
  held[0][KnobId::kPrefetchDepth] = held[1][KnobId::kPrefetchDepth] = 4;
  const RunResult result = run(scenario, nullptr, {}, held);
  ASSERT_EQ(result.segments.size(), 2U);
  EXPECT_EQ(result.segments[0].settings[KnobId::kWorkers], 2);
  EXPECT_EQ(result.segments[1].settings[KnobId::kWorkers], 8);
  EXPECT_NEAR(result.segments[0].totals.samples / 10, 2000, 20);
  EXPECT_NEAR(result.segments[1].totals.samples / 10, 8000, 200);
  EXPECT_NE(result.segments[0].features, result.segments[1].features);
}

TEST(Simulation, ThresholdsMoveSamplesToIdleAccelerators) {
  World world;
  world.machine.cores.count = 4;
  world.machine.gpu.count = 1;
  world.workload.stages[kDecodeStage] = {.cpu = 4e-3, .sleep = 0, .gpu = 1e-4, .cv = 0};
  world.workload.stages[kAugmentStage] = {.cpu = 2e-3, .sleep = 0, .gpu = 2e-5, .cv = 0};
  world.consumer.step = 0.02;
  const double fixed = late_rate(world, policy_named("cpu_only"), {});
  const RunResult ruled = run(stationary(world, 60), policy_named("rule"));
  EXPECT_GT(ruled.segments.back().settings[KnobId::kDecodeOnGpu], 0);
  EXPECT_GT(late_rate(world, policy_named("rule"), {}), fixed * 1.5);
  EXPECT_GT(late_rate(world, policy_named("gpu_only"), {}), fixed * 2);
}

TEST(Simulation, PredictionFindsDepthAndMakersWithoutACalibration) {
  World world;
  world.machine.cores.count = 8;
  world.machine.storage = {.bandwidth = 1e9, .latency = 2e-2};
  world.workload.stages[kDecodeStage].cpu = 2e-3;
  world.consumer.step = 0.032;  // 2,000 samples/s: 4 cores, 40 reads
  Settings start = fit_settings({}, limits_of(world));
  start[KnobId::kWorkers] = start[KnobId::kIoDepth] = start[KnobId::kPrefetchDepth] = 1;
  const RunResult result = run(stationary(world, 120), policy_named("mpc"), start);
  const Settings& settings = result.segments.back().settings;
  EXPECT_GE(settings[KnobId::kIoDepth], 32);
  EXPECT_GE(settings[KnobId::kWorkers], 4);
  EXPECT_GT(late_rate(world, policy_named("mpc"), start), 1900);
}

TEST(Simulation, PredictionKnowsThatReadsEnd) {
  // From the second epoch on all is in memory, and only the cores bind.
  World world;
  world.machine.cores.count = 8;
  world.machine.storage = {.bandwidth = 1e8, .latency = 1e-3};
  world.machine.memory.page_cache = 1e12;
  world.workload.samples = 20'000;  // as many as are read in 20 s
  world.workload.stages[kDecodeStage].cpu = 1e-3;
  world.consumer.step = 0.01;
  for (const std::string_view name : {"mpc", "model"}) {
    EXPECT_GT(late_rate(world, policy_named(name), {}), 0.9 * 6400) << name;
  }
}

TEST(Simulation, PredictionByACalibrationMovesSamplesToAccelerators) {
  World world;
  world.machine.cores.count = 2;
  world.machine.gpu.count = 1;
  world.workload.stages[kDecodeStage] = {.cpu = 4e-3, .sleep = 0, .gpu = 5e-5, .cv = 0};
  world.consumer.step = 0.02;
  PolicyConfig config;
  config.name = "mpc";
  config.schema = schema_hash();
  for (const char c : world_to_json(world).dump()) config.weights.push_back(static_cast<std::byte>(c));
  const auto calibrated = [&] { return std::move(*make_policy(config)); };
  EXPECT_GT(run(stationary(world, 60), calibrated()).segments.back().settings[KnobId::kDecodeOnGpu], 4);
  EXPECT_GT(late_rate(world, calibrated(), {}), 2 * late_rate(world, nullptr, {}));
  config.weights.assign(3, std::byte{'x'});
  EXPECT_NE(make_policy(config).error().message.find("no calibration"), std::string::npos);
}

TEST(Simulation, TheModelGivesEachStageWhatItNeeds) {
  World world;
  world.machine.cores.count = 16;
  world.machine.storage = {.bandwidth = 1e9, .latency = 5e-3};
  world.workload.stages[kDecodeStage].cpu = 2e-3;
  world.consumer.step = 0.064;  // 1,000 samples/s: 2 cores, 5 reads
  const Settings settings = run(stationary(world, 60), policy_named("model")).segments.back().settings;
  EXPECT_GE(settings[KnobId::kWorkers], 2);
  EXPECT_LE(settings[KnobId::kWorkers], 6);
  EXPECT_GE(settings[KnobId::kIoDepth], 4);
  EXPECT_GT(late_rate(world, policy_named("model"), {}), 950);
}

}  // namespace
}  // namespace drapps::sim
