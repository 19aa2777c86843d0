#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "drapps/base/full_testing.h"
#include "drapps/plant/fields.h"
#include "drapps/plant/knob_range.h"
#include "drapps/sim/discrete_plant.h"
#include "drapps/sim/fluid_plant.h"
#include "drapps/sim/random_worlds.h"

namespace drapps::sim {
namespace {

/// Samples/s after a while, of a plant that runs so long.
template <class P>
double rate_of(const World& world, const Settings& settings, double warm, double seconds) {
  P plant(stationary(world, 60), settings);
  plant.advance(warm);
  const double samples = plant.totals().samples;
  const double time = plant.time();
  plant.advance(seconds);
  return (plant.totals().samples - samples) / (plant.time() - time);
}

World photos() {
  World world;
  world.machine.cores.count = 8;
  world.machine.storage = {.bandwidth = 2e8, .latency = 2e-3};
  world.workload.stages[kDecodeStage] = {.cpu = 2e-3};
  world.workload.stages[kAugmentStage] = {.cpu = 1e-3};
  world.consumer.step = 0.03;
  return world;
}

Settings wide(const World& world) {
  const Limits limits = limits_of(world);
  Settings settings;
  for (const Knob& knob : knob_table()) settings[knob.id] = KnobRange(knob, limits).high();
  settings[KnobId::kDecodeOnGpu] = settings[KnobId::kAugmentOnGpu] = settings[KnobId::kForm] = 0;
  settings[KnobId::kRemoteWorkers] = 0;
  return fit_settings(settings, limits);
}

TEST(SpeedOf, ThreadsShareCoresEvenlyOrByGroups) {
  CoreModel cores{.count = 2, .foreign = 1, .oversubscription = 0};
  EXPECT_DOUBLE_EQ(speed_of(cores, 1), 1);
  EXPECT_DOUBLE_EQ(speed_of(cores, 4), 0.4);
  cores.grouped = 1;
  EXPECT_DOUBLE_EQ(speed_of(cores, 1), 1);
  EXPECT_DOUBLE_EQ(speed_of(cores, 4), 0.25);  // a core of four, however many they are
  cores = {.count = 16, .foreign = 4, .grouped = 1, .oversubscription = 0};
  EXPECT_DOUBLE_EQ(speed_of(cores, 16), 0.75);  // a foreign thread takes one core at most
  EXPECT_DOUBLE_EQ(speed_of(cores, 8), 1);
}

TEST(FluidPlant, WhatIsMadeIsTakenOrWaits) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws({.seed = seed}, 1);
    World world = random_world(draws);
    world.workload.noise = 0.1;
    FluidPlant plant(stationary(world, 60), random_settings(limits_of(world), draws));
    for (int i = 0; i < 40; ++i) {
      plant.advance(0.5);
      if (i % 8 == 0) plant.apply(random_settings(plant.limits(), draws));
      const Totals& totals = plant.totals();
      ASSERT_NEAR(totals.output, totals.samples + plant.level(), 1 + 1e-6 * totals.output) << "world " << seed;
      ASSERT_GE(plant.level(), 0);
      ASSERT_LE(totals.stall, totals.seconds * (1 + 1e-9));
      ASSERT_LE(totals.gpu_idle, totals.seconds * (1 + 1e-9));
    }
  }
}

TEST(FluidPlant, NoRateIsAboveWhatCoresStorageAndConsumerGive) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Draws draws({.seed = seed}, 2);
    const World world = random_world(draws);
    const Settings settings = random_settings(limits_of(world), draws);
    const double rate = rate_of<FluidPlant>(world, settings, 5, 20);
    const SampleCost cost = cost_of(world, settings, {});
    const double slack = 1 + 1e-6;
    const double far = settings[KnobId::kRemoteWorkers] * world.machine.remote.cores;
    ASSERT_LE(rate * cost.cpu_sum, (world.machine.cores.count + far) * slack) << "world " << seed;
    if (world.machine.storage.bandwidth > 0) {
      ASSERT_LE(rate * world.workload.sample_bytes, world.machine.storage.bandwidth * slack) << "world " << seed;
    }
    ASSERT_LE(rate * (world.consumer.step / world.workload.batch + cost.gpu), slack) << "world " << seed;
  }
}

TEST(FluidPlant, MoreOfAResourceIsNeverSlower) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Draws draws({.seed = seed}, 3);
    const World world = random_world(draws);
    const Settings settings = random_settings(limits_of(world), draws);
    const double before = rate_of<FluidPlant>(world, settings, 5, 20);
    const auto grown = [&](auto change) {
      World more = world;
      change(more);
      return rate_of<FluidPlant>(more, settings, 5, 20);
    };
    const double least = before * (1 - 1e-6);
    ASSERT_GE(grown([](World& w) { w.machine.cores.count *= 2; }), least) << "world " << seed;
    ASSERT_GE(grown([](World& w) { w.machine.storage.bandwidth *= 2; }), least) << "world " << seed;
    ASSERT_GE(grown([](World& w) { w.machine.storage.latency /= 2; }), least) << "world " << seed;
    ASSERT_GE(grown([](World& w) { w.machine.storage.requests *= 2; }), least) << "world " << seed;
    ASSERT_GE(grown([](World& w) { w.machine.cores.foreign = 0; }), least) << "world " << seed;
    ASSERT_GE(grown([](World& w) { w.consumer.step /= 2; }), least) << "world " << seed;
  }
}

TEST(FluidPlant, RecordsAndRowsOfRemoteMachinesComeOverOneNetwork) {
  World world;
  world.machine.cores.count = 16;
  world.machine.storage = {.bandwidth = 1e9};
  world.machine.network = {.bandwidth = 1e8, .storage = 1};
  world.workload.sample_bytes = 1e5;
  world.workload.row_bytes = 6e5;
  world.workload.stages[kDecodeStage].cpu = 1e-3;
  Settings settings = wide(world);
  EXPECT_NEAR(rate_of<FluidPlant>(world, settings, 10, 10), 1000, 10);
  EXPECT_NEAR(rate_of<DiscretePlant>(world, settings, 10, 10), 1000, 20);
  world.machine.network.storage = 0;
  EXPECT_NEAR(rate_of<FluidPlant>(world, settings, 10, 10), 10'000, 100);

  world.machine.storage = {};
  world.machine.cores.count = 1;
  world.machine.remote = {.most = 8, .cores = 16, .start = 1, .bandwidth = 1e12};
  settings = wide(world);
  settings[KnobId::kRemoteWorkers] = 8;
  const double rows = 1e8 / 6e5;
  const double rate = rate_of<FluidPlant>(world, settings, 10, 10);
  EXPECT_GT(rate, rows);
  EXPECT_LT(rate, rows * 1.01);  // one in 128 is made here
}

TEST(FluidPlant, LaneWeightsThatAreCapsBind) {
  World world;
  world.machine.cores.count = 8;
  world.workload.stages[kDecodeStage].cpu = 4e-3;
  world.workload.stages[kAugmentStage].cpu = 1e-3;
  world.workload.split = 1e-9;
  Settings settings = wide(world);
  settings[KnobId::kFused] = 0;
  settings.lane_weights = {};
  settings.lane_weights[lane_place(LaneRole::kDecode)] = 4;
  settings.lane_weights[lane_place(LaneRole::kAugment)] = 8;
  settings.lane_weights[lane_place(LaneRole::kCollate)] = 4;
  EXPECT_NEAR(rate_of<FluidPlant>(world, settings, 10, 10), 1600, 10);
  world.workload.caps = 1;
  EXPECT_NEAR(rate_of<FluidPlant>(world, settings, 10, 10), 500, 5);  // two threads decode
  settings[KnobId::kFused] = 1;
  EXPECT_NEAR(rate_of<FluidPlant>(world, settings, 10, 10), 1600, 10);
}

TEST(FluidPlant, WhatThePageCacheLosesIsReadAgainAtOnce) {
  World world;
  world.machine.cores.count = 16;
  world.machine.storage = {.bandwidth = 1e8};
  world.machine.memory.page_cache = 1e9;
  world.machine.memory.cache = 0;
  world.workload.samples = 1e4;
  world.workload.sample_bytes = 1e5;
  world.workload.stages[kDecodeStage].cpu = 1e-3;
  Scenario scenario = stationary(world, 200);
  world.machine.memory.page_cache = 5e8;
  scenario.segments.push_back({.begin = 100, .world = world, .name = "half"});
  FluidPlant plant(scenario, wide(world));
  const auto rate_until = [&](double end) {
    const double before = plant.totals().samples;
    const double begin = plant.time();
    plant.advance(end - begin);
    return (plant.totals().samples - before) / (end - begin);
  };
  EXPECT_NEAR(rate_until(9), 1000, 10);
  rate_until(99);
  EXPECT_GT(rate_until(100), 10'000);
  EXPECT_NEAR(rate_until(102), 2000, 50);
}

TEST(FluidPlant, TheSameAgainIsTheSameToTheLastBit) {
  Draws draws({.seed = 9}, 1);
  World world = random_world(draws);
  world.workload.noise = 0.2;
  const auto seen = [&] {
    FluidPlant plant(stationary(world, 60), wide(world));
    ObservationWords all{};
    for (int i = 0; i < 100; ++i) {
      plant.advance(0.5);
      const ObservationWords words = words_of(plant.observe());
      for (std::size_t at = 0; at < words.size(); ++at) all[at] = all[at] * 31 + words[at];
    }
    return all;
  };
  EXPECT_EQ(seen(), seen());
}

TEST(FluidPlant, AgreesWithTheFormulaOfWhatACacheBrings) {
  // DS-Analyzer's what-if: min(G, P, 1 / (x / memory + (1 − x) / disk)), x the share that is cached.
  World world = photos();
  world.machine.storage = {.bandwidth = 5.25e8};
  world.machine.memory.bandwidth = 2e10;
  world.workload.sample_bytes = 113'958;
  world.workload.samples = 20'000;
  world.machine.cores.count = 64;
  for (const double supply : {2e3, 1e5}) {
    world.workload.stages[kDecodeStage] = {.cpu = 64 / supply};
    world.workload.stages[kAugmentStage] = {};
    for (const double trained : {3e3, 1e6}) {
      world.consumer.step = world.workload.batch / trained;
      for (const double cached : {0.0, 0.25, 0.5, 0.75, 0.95}) {
        world.machine.memory.page_cache = cached * world.workload.samples * world.workload.sample_bytes;
        Settings settings = wide(world);
        const double rate = rate_of<FluidPlant>(world, settings, 60, 120);
        const double disk = world.machine.storage.bandwidth / world.workload.sample_bytes;
        const double memory = world.machine.memory.bandwidth / world.workload.sample_bytes;
        const double fetched = 1 / (cached / memory + (1 - cached) / disk);
        const double expected = std::min({trained, supply, fetched});
        EXPECT_NEAR(rate / expected, 1, 0.02) << supply << " made, " << trained << " trained, " << cached << " cached";
      }
    }
  }
}

/// Python code that computes for 1 ms on two cores, and waits for so many s.
World python_world(double sleep) {
  World world;
  world.machine.cores = {.count = 2, .oversubscription = 0};
  world.machine.memory.process = 1e7;
  world.workload.stages[kPythonStage] = {.cpu = 1e-3, .sleep = sleep};
  world.workload.row_bytes = 1e4;
  return world;
}

TEST(LimitsOf, WorkerProcessesHaveTheKnobsOfALiveLoaderOfThem) {
  const Limits limits = limits_of(python_world(0));
  EXPECT_EQ(limits[KnobId::kProcesses], (Bounds{1, 128}));
  for (const Knob& knob : knob_table()) {
    if (knob.id != KnobId::kProcesses) {
      EXPECT_EQ(limits[knob.id].high, 0) << knob.name;
    }
  }
}

TEST(FluidPlant, ProcessesThatStartTakeCoresFromOthers) {
  Settings settings;
  settings[KnobId::kProcesses] = 2;
  FluidPlant plant(stationary(python_world(0), 60), settings);
  plant.advance(4);
  EXPECT_NEAR(plant.totals().output, 8000, 80);
  settings[KnobId::kProcesses] = 48;
  plant.apply(settings);
  plant.advance(0.5);
  EXPECT_EQ(plant.observe().processes.starting, 46);
  plant.advance(9.5);
  EXPECT_EQ(plant.observe().processes.starting, 0);
  const double lost = 8000 + 20'000 - plant.totals().output;
  EXPECT_NEAR(lost / 2000, 46 * 0.078 / 2, 0.4);  // s of two cores
}

TEST(FluidPlant, WorkerProcessesAreSeenAsOfALiveLoader) {
  World world = python_world(0.02);
  world.consumer = {.step = 0.01, .cpu = 0.2};
  Settings settings;
  settings[KnobId::kProcesses] = 4;
  FluidPlant plant(stationary(world, 60), settings);
  plant.advance(10);
  const Observation seen = plant.observe();
  EXPECT_EQ(seen.ready_batches, 0U);
  EXPECT_EQ(seen.workers.window_ns, 0U);
  const double steps = plant.totals().samples / world.workload.batch;
  EXPECT_NEAR(seen.process_cpu_seconds, steps * 0.01 * 0.2, 1e-6);  // that of processes is none of this one's
  EXPECT_NEAR(static_cast<double>(seen.processes.demand_ns) * 1e-9, plant.totals().output * 1e-3, 1e-6);
}

TEST(DiscretePlant, IsAQueueWithExponentialTimes) {
  // One maker and one consumer: the maker stops where prefetch_depth batches wait, and the consumer has one more.
  World world;
  world.machine.cores = {.count = 4, .oversubscription = 0};
  world.workload.batch = 1;
  world.workload.row_bytes = 1e3;
  world.consumer.step_cv = 1;
  const bool full = full_tests();
  for (const double load : full ? std::vector{0.5, 0.9, 1.0, 1.5} : std::vector{0.9, 1.5}) {
    world.workload.stages[kDecodeStage] = {.cpu = 1e-3 / load, .cv = 1};
    world.consumer.step = 1e-3;
    for (const std::int32_t depth : full ? std::vector{1, 2, 4} : std::vector{1, 4}) {
      Settings settings = wide(world);
      settings[KnobId::kWorkers] = 1;
      settings[KnobId::kPrefetchDepth] = depth;
      const double rate = rate_of<DiscretePlant>(world, settings, 10, 600);
      EXPECT_NEAR(rate / queue_rate(1e3 * load, 1e3, depth + 1), 1, 0.01) << "load " << load << ", depth " << depth;
    }
  }
}

TEST(FluidPlant, AgreesWithTheDiscreteOne) {
  std::vector<double> errors;
  const std::uint64_t worlds = full_tests() ? 200 : 80;
  for (std::uint64_t seed = 0; seed < worlds; ++seed) {
    Draws draws({.seed = seed}, 4);
    const World world = random_world(draws);
    const Settings settings = random_settings(limits_of(world), draws);
    const double fluid = rate_of<FluidPlant>(world, settings, 5, 20);
    const double batches = world.workload.batch / fluid;
    const double discrete = rate_of<DiscretePlant>(world, settings, 50 * batches, 200 * batches);
    errors.push_back(std::abs(fluid / discrete - 1));
  }
  std::ranges::sort(errors);
  EXPECT_LE(errors[errors.size() / 2], 0.05);
  EXPECT_LE(errors[errors.size() * 95 / 100], 0.15);
}

}  // namespace
}  // namespace drapps::sim
