// What a policy may cost under the judge, on simulated plants.
#include "drapps/policy/judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "drapps/base/full_testing.h"
#include "drapps/control/simulation.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/decider.h"
#include "drapps/policy/initial.h"
#include "drapps/sim/fluid_plant.h"
#include "drapps/sim/random_worlds.h"

namespace drapps::sim {
namespace {

constexpr double kHalfHour = 1800;

double samples_of(const RunResult& result) {
  double samples = 0;
  for (const SegmentResult& row : result.segments) samples += row.totals.samples;
  return samples;
}

/// Proposes what a function of the time says.
class Timed final : public Policy {
 public:
  using Wanted = std::function<Settings(double seconds, const Observation& seen)>;
  explicit Timed(Wanted wanted, bool judged = true) : wanted_(std::move(wanted)), judged_(judged) {}
  std::string_view name() const noexcept override { return "timed"; }
  bool judged() const noexcept override { return judged_; }
  Settings decide(const Observation& seen, PolicyState&) const override {
    return wanted_(static_cast<double>(seen.time_ns) * 1e-9, seen);
  }

 private:
  Wanted wanted_;
  bool judged_;
};

Settings start_of(const World& world) {
  return initial_settings(limits_of(world), static_cast<std::size_t>(world.workload.batch * world.workload.row_bytes));
}

/// The slowest of many settings that a plant may have.
Settings worst_of(const World& world, Draws& draws) {
  Settings worst;
  double fewest = 1e300;
  for (int i = 0; i < 40; ++i) {
    const Settings tried = random_settings(limits_of(world), draws);
    const double samples = samples_of(run(stationary(world, 20), nullptr, tried));
    if (samples >= fewest) continue;
    fewest = samples;
    worst = tried;
  }
  return worst;
}

/// A plant, what it is set to at the start, the slowest of other settings, and what it makes when it stays as it
/// starts.
struct Case {
  World world;
  Settings start, worst;
  double staying;
};

std::vector<Case> random_cases() {
  std::vector<Case> cases;
  for (std::uint64_t seed = 0; seed < (full_tests() ? 400 : 20); ++seed) {
    Draws draws({.seed = seed}, 3);
    World world = random_world(draws);
    world.workload.noise = 0.05;
    const Settings worst = worst_of(world, draws);
    cases.push_back({world, start_of(world), worst, samples_of(run(stationary(world, kHalfHour), nullptr))});
  }
  return cases;
}

/// What a plant loses under a policy against the settings that it starts with, on 19 of 20 plants.
double loss(const std::function<Timed::Wanted(const Settings& worst, const Settings& start)>& policy) {
  static const std::vector<Case> cases = random_cases();
  std::vector<double> losses;
  for (const Case& each : cases) {
    auto judged = std::make_unique<Timed>(policy(each.worst, each.start));
    losses.push_back(1 - samples_of(run(stationary(each.world, kHalfHour), std::move(judged))) / each.staying);
  }
  std::ranges::sort(losses);
  return losses[losses.size() * 19 / 20];
}

TEST(Judge, APolicyThatIsAlwaysWrongCostsLittle) {
  EXPECT_LE(loss([](const Settings& worst, const Settings&) {
              return [worst](double, const Observation&) { return worst; };
            }),
            0.05);
}

TEST(Judge, APolicyThatTurnsBadCostsLittle) {
  EXPECT_LE(loss([](const Settings& worst, const Settings& start) {
              return [=](double seconds, const Observation&) { return seconds < 120 ? start : worst; };
            }),
            0.05);
}

TEST(Judge, APolicyThatAlternatesCostsLittle) {
  for (const double period : full_tests() ? std::vector{4.0, 30.0, 120.0} : std::vector{30.0}) {
    EXPECT_LE(loss([period](const Settings& worst, const Settings& start) {
                return [=](double seconds, const Observation&) {
                  return static_cast<int>(seconds / period) % 2 == 0 ? worst : start;
                };
              }),
              0.05)
        << period;
  }
}

/// Four cores, and a training that needs them all.
World busy_world() {
  World world;
  world.machine.cores.count = 4;
  world.workload.stages[kDecodeStage].cpu = 4e-3;
  world.consumer.step = 0.05;
  return world;
}

Settings with_workers(Settings settings, std::int32_t workers) {
  settings[KnobId::kWorkers] = workers;
  return settings;
}

TEST(Judge, ABetterPolicyIsLeftAlone) {
  const World world = busy_world();
  const Settings start = with_workers(start_of(world), 1);
  const auto more = [&](bool judged) {
    return samples_of(run(
        stationary(world, kHalfHour),
        std::make_unique<Timed>([&](double, const Observation&) { return with_workers(start, 4); }, judged), start));
  };
  EXPECT_GT(more(true), 0.98 * more(false));
  EXPECT_GT(more(true), 3 * samples_of(run(stationary(world, kHalfHour), nullptr, start)));
}

TEST(Judge, AnEventGivesThePolicyAnotherChance) {
  // One worker is too few: the policy loses, and two stay. It asks for four before the step shrinks.
  World slow = busy_world();
  slow.consumer.step = 0.2;
  Scenario scenario = stationary(slow, 900);
  scenario.segments.push_back({.begin = 300, .world = busy_world(), .name = "fast"});
  const Settings start = with_workers(start_of(slow), 4);
  const auto wanted = [&](double seconds, const Observation&) { return with_workers(start, seconds < 100 ? 1 : 4); };
  const RunResult result = run(scenario, std::make_unique<Timed>(wanted), with_workers(start, 2));
  EXPECT_EQ(result.segments.back().settings[KnobId::kWorkers], 4);
}

TEST(Judge, TooFewProcessesAreNotTriedWhenSamplesBeginToSleep) {
  World awake;
  awake.machine.cores.count = 4;
  awake.workload.stages[kPythonStage].cpu = 1e-3;
  awake.consumer.step = 0.1;
  World asleep = awake;
  asleep.workload.stages[kPythonStage].sleep = 0.015;
  Scenario scenario = stationary(awake, 90);
  scenario.segments.push_back({.begin = 30, .world = asleep, .name = "asleep"});
  Settings two = start_of(awake);
  two[KnobId::kProcesses] = 2;
  const auto samples = [&](bool judged, double period) {
    const auto wanted = [&](double seconds, const Observation&) {
      Settings more = two;
      if (seconds > 32) more[KnobId::kProcesses] = static_cast<int>(seconds / period) % 2 == 0 ? 12 : 13;
      return more;
    };
    return samples_of(run(scenario, std::make_unique<Timed>(wanted, judged), two));
  };
  EXPECT_GT(samples(true, 1000), 0.99 * samples(false, 1000));
  EXPECT_GT(samples(true, 2), 0.99 * samples(false, 2));  // held, measured, and let go
}

TEST(Judge, AProbeLeavesWhatThePolicyRemembers) {
  const World world = busy_world();
  const Settings start = with_workers(start_of(world), 4);
  int asked = 0;
  FluidPlant plant(stationary(world, 100), start);
  Decider decider(std::make_unique<Timed>([&](double, const Observation&) {
                    ++asked;
                    return with_workers(start, 3);
                  }),
                  plant.limits());
  bool tried = false;
  for (int i = 0; i < 60; ++i) {
    plant.advance(0.5);
    const int before = asked;
    Observation seen = plant.observe();
    const Decision decision = decider.decide(seen, [&] { return plant.counters().time_ns; });
    if (decider.trying() == Trying::kTries) {
      tried = true;
      EXPECT_EQ(asked, before);
      EXPECT_NE(decision.why.view().find("compared"), std::string_view::npos);
    }
    plant.apply(decision.applied);
  }
  EXPECT_TRUE(tried);
  EXPECT_EQ(plant.settings()[KnobId::kWorkers], 4);  // three are slower
}

TEST(Judge, WaitsForItsTurnAndGivesItUp) {
  const World world = busy_world();
  const Settings start = with_workers(start_of(world), 4);
  FluidPlant plant(stationary(world, 100), start);
  Decider decider(std::make_unique<Timed>([&](double, const Observation&) { return with_workers(start, 3); }),
                  plant.limits());
  for (int i = 0; i < 100; ++i) {
    plant.advance(0.5);
    Observation seen = plant.observe();
    seen.turn = i < 50 || decider.trying() == Trying::kTries ? Turn::kTaken : Turn::kOpen;
    const Decision decision = decider.decide(seen, [&] { return plant.counters().time_ns; });
    EXPECT_TRUE(i <= 30 || i >= 50 || decider.trying() == Trying::kWaits) << i;
    plant.apply(decision.applied);
  }
  EXPECT_EQ(plant.settings()[KnobId::kWorkers], 3);  // no probe came to its end
}

TEST(Judge, DecidesTheSameFromWhatItHasSaved) {
  const World world = busy_world();
  const Settings start = with_workers(start_of(world), 4);
  const auto policy = [&] {
    return std::make_unique<Timed>([&](double, const Observation&) { return with_workers(start, 3); });
  };
  FluidPlant plant(stationary(world, 200), start);
  Decider decider(policy(), plant.limits());
  const auto clock = [&] { return plant.counters().time_ns; };
  for (int i = 0; i < 200; ++i) {
    plant.advance(0.5);
    Decider other(policy(), plant.limits());
    const DeciderState state = decider.save();
    ASSERT_TRUE(other.restore(state).ok());
    const Observation seen = plant.observe();
    const Decision decision = decider.decide(seen, clock);
    EXPECT_EQ(other.decide(seen, clock).applied, decision.applied) << i;
    EXPECT_EQ(other.save().guard, decider.save().guard) << i;
    plant.apply(decision.applied);
  }
}

TEST(Judge, WhatNoJudgeHasSavedIsRefused) {
  Judge judge;
  std::vector<std::uint64_t> words = judge.save();
  EXPECT_TRUE(judge.restore(words));
  words[0] = ~std::uint64_t{0};
  EXPECT_FALSE(judge.restore(words));
  words.pop_back();
  EXPECT_FALSE(judge.restore(words));
}

}  // namespace
}  // namespace drapps::sim
