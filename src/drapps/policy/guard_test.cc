#include "drapps/policy/guard.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/initial.h"

namespace drapps {
namespace {

constexpr std::uint64_t kMs = 1'000'000;

Limits wide_limits() {
  Limits limits = native_limits(16, 64, 8, true);
  limits.weighted = 0b0000'0111;
  return limits;
}

/// A plant that does what it is told, one call of step() after another.
struct Bench {
  explicit Bench(const Limits& limits) : guard(limits) {
    seen.settings = initial_settings(limits);
    seen.time_ns = 1'000'000'000'000;
  }
  Decision step(std::uint64_t ms, std::uint64_t batches, const Settings& proposed) {
    seen.time_ns += ms * kMs;
    seen.batches += batches;
    const Decision decision = guard.rule(seen, proposed, seen.time_ns);
    seen.settings = decision.applied;
    return decision;
  }
  Hold hold_of(KnobId id, const Decision& decision) { return decision.holds[static_cast<std::size_t>(id)]; }

  Guard guard;
  Observation seen;
};

Settings with(Settings settings, KnobId id, std::int32_t value) {
  settings[id] = value;
  return settings;
}

TEST(Guard, MovesOneNotchPerCoolDown) {
  Bench bench(wide_limits());
  std::vector<std::int32_t> workers;
  for (int i = 0; i < 9; ++i) {
    workers.push_back(bench.step(500, 4, with(bench.seen.settings, KnobId::kWorkers, 1)).applied[KnobId::kWorkers]);
  }
  EXPECT_EQ(workers, (std::vector<std::int32_t>{12, 12, 8, 8, 6, 6, 4, 4, 3}));
}

TEST(Guard, FastKnobWaitsForTimeAndBatches) {
  Bench bench(wide_limits());
  const Settings wanted = with(bench.seen.settings, KnobId::kWorkers, 1);
  ASSERT_EQ(bench.step(500, 4, wanted).applied[KnobId::kWorkers], 12);
  EXPECT_EQ(bench.hold_of(KnobId::kWorkers, bench.step(5000, 3, wanted)), Hold::kClock);
  EXPECT_EQ(bench.hold_of(KnobId::kWorkers, bench.step(100, 1, wanted)), Hold::kCoolDown);
  EXPECT_EQ(bench.step(500, 4, wanted).applied[KnobId::kWorkers], 8);
  EXPECT_EQ(bench.hold_of(KnobId::kWorkers, bench.step(499, 100, wanted)), Hold::kClock);
}

TEST(Guard, DepthsGoAnyDistanceInTheirFirstMoveAndANotchFromThenOn) {
  for (const KnobId id : {KnobId::kIoDepth, KnobId::kPrefetchDepth}) {
    Limits limits = native_limits(16, 256, 32);
    Bench bench(limits);
    const KnobRange range = range_of(id, limits);
    const std::int32_t far = range.down(range.down(range.high()));
    ASSERT_LT(range.up(bench.seen.settings[id]), far);
    const Decision first = bench.step(500, 4, with(bench.seen.settings, id, far));
    EXPECT_EQ(first.applied[id], far);
    EXPECT_EQ(bench.hold_of(id, first), Hold::kNone);
    EXPECT_EQ(bench.hold_of(id, bench.step(500, 4, with(bench.seen.settings, id, 1))), Hold::kCoolDown);
    const Decision second = bench.step(500, 4, with(bench.seen.settings, id, 1));
    EXPECT_EQ(second.applied[id], range.down(far));
    EXPECT_EQ(bench.hold_of(id, second), Hold::kNotch);
  }
}

TEST(Guard, AMoveThatABudgetForcedIsTheFirstOne) {
  Limits limits = native_limits(16, 256, 32);
  Bench bench(limits);
  bench.seen.settings[KnobId::kIoDepth] = 256;
  limits[KnobId::kIoDepth].high = 16;
  bench.guard.set_limits(limits);
  ASSERT_EQ(bench.step(500, 4, bench.seen.settings).applied[KnobId::kIoDepth], 16);
  limits[KnobId::kIoDepth].high = 256;
  bench.guard.set_limits(limits);
  const Settings wanted = with(bench.seen.settings, KnobId::kIoDepth, 256);
  bench.step(500, 4, wanted);
  EXPECT_EQ(bench.step(500, 4, wanted).applied[KnobId::kIoDepth], 32);
}

TEST(Guard, SlowKnobWaitsTenSeconds) {
  Bench bench(wide_limits());
  ASSERT_EQ(bench.step(500, 4, with(bench.seen.settings, KnobId::kFused, 0)).applied[KnobId::kFused], 0);
  for (int i = 0; i < 19; ++i) {
    const Decision decision = bench.step(500, 4, with(bench.seen.settings, KnobId::kFused, 1));
    ASSERT_EQ(decision.applied[KnobId::kFused], 0);
    ASSERT_EQ(bench.hold_of(KnobId::kFused, decision), Hold::kClock);
  }
  EXPECT_EQ(bench.step(500, 4, with(bench.seen.settings, KnobId::kFused, 1)).applied[KnobId::kFused], 1);
}

TEST(Guard, EndsAtTheBudget) {
  Bench bench(wide_limits());
  const Decision decision = bench.step(500, 4, with(bench.seen.settings, KnobId::kWorkers, 1000));
  EXPECT_EQ(decision.applied[KnobId::kWorkers], 16);
  EXPECT_EQ(bench.hold_of(KnobId::kWorkers, decision), Hold::kBudget);
}

TEST(Guard, BringsForeignSettingsInsideAtOnceWhateverTheSignals) {
  Bench bench(wide_limits());
  bench.seen.settings = with(bench.seen.settings, KnobId::kWorkers, 500);
  bench.seen.settings.lane_weights = {9, 9, 9};
  bench.seen.process_cpu_seconds = std::numeric_limits<double>::quiet_NaN();
  const Decision decision = bench.step(500, 4, bench.seen.settings);
  EXPECT_EQ(decision.applied[KnobId::kWorkers], 16);
  EXPECT_TRUE(weights_fit(decision.applied.lane_weights, wide_limits().weighted));
}

TEST(Guard, LeavesAValueBetweenTwoNotchesAloneUntilAskedToMove) {
  Bench bench(wide_limits());
  bench.seen.settings[KnobId::kWorkers] = 5;
  EXPECT_EQ(bench.step(500, 4, bench.seen.settings).applied[KnobId::kWorkers], 5);
  EXPECT_EQ(bench.step(500, 4, with(bench.seen.settings, KnobId::kWorkers, 16)).applied[KnobId::kWorkers], 6);
}

TEST(Guard, MovesOneSixteenthFromTheLargestSurplusToTheLargestLack) {
  Bench bench(wide_limits());
  ASSERT_EQ(bench.seen.settings.lane_weights, (LaneWeights{6, 5, 5}));
  Settings wanted = bench.seen.settings;
  wanted.lane_weights = {0, 4, 12};
  std::vector<LaneWeights> seen;
  for (int i = 0; i < 13; ++i) seen.push_back(bench.step(1000, 4, wanted).applied.lane_weights);
  EXPECT_EQ(seen[0], (LaneWeights{5, 5, 6}));
  EXPECT_EQ(seen[1], seen[0]);  // cooling down
  EXPECT_EQ(seen[2], (LaneWeights{4, 5, 7}));
  EXPECT_EQ(seen.back(), (LaneWeights{1, 4, 11}));  // a lane keeps its last sixteenth
}

TEST(Guard, DoesNotHoldWhereMetersComeAndGo) {
  Bench bench(wide_limits());
  for (int i = 0; i < 6; ++i) {
    MachineReadings readings{};
    const std::uint64_t now = bench.seen.time_ns + 500 * kMs;
    if (i % 2 == 0) readings.cpu.use_mean = readings.gpu.max.memory_used = reading(1e6 - i, now);
    bench.seen.meters = observation_of(readings, now);
    const Decision decision = bench.step(1000, 4, with(bench.seen.settings, KnobId::kWorkers, 1));
    EXPECT_EQ(decision.signals, Hold::kNone);
    EXPECT_TRUE(decision.fault.view().empty());
  }
  EXPECT_LT(bench.seen.settings[KnobId::kWorkers], 12);
}

TEST(Guard, HoldsOnStaleSignalsAndRestsAfterwards) {
  Bench bench(wide_limits());
  const Settings wanted = with(bench.seen.settings, KnobId::kWorkers, 1);
  const Decision stale = bench.guard.rule(bench.seen, wanted, bench.seen.time_ns + 2001 * kMs);
  EXPECT_EQ(stale.applied, bench.seen.settings);
  EXPECT_EQ(bench.hold_of(KnobId::kWorkers, stale), Hold::kStale);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(bench.step(500, 4, wanted).applied[KnobId::kWorkers], 16);
  EXPECT_EQ(bench.step(500, 4, wanted).applied[KnobId::kWorkers], 12);
}

TEST(Guard, HoldsOnBrokenSignals) {
  using Break = void (*)(Observation&);
  const Break breaks[] = {
      [](Observation& o) { o.batches -= 1; },
      [](Observation& o) { o.samples -= 1; },
      [](Observation& o) { o.consumer.step.sum -= 1; },
      [](Observation& o) { o.consumer.stall.count -= 1; },
      [](Observation& o) { o.lanes[7].service_cpu.sum -= 1; },
      [](Observation& o) { o.time_ns -= 1; },
      [](Observation& o) { o.time_ns += 1'000'000'000; },  // taken in the future
      [](Observation& o) { o.process_cpu_seconds = std::numeric_limits<double>::quiet_NaN(); },
      [](Observation& o) { o.process_cpu_seconds = std::numeric_limits<double>::infinity(); },
      [](Observation& o) { o.consumer.step.p50 = 1; },  // above the 90th percentile
      [](Observation& o) { o.upcoming.sized = o.upcoming.samples + 1; },
      [](Observation& o) { o.storage.bytes -= 1; },
  };
  for (const Break& broken : breaks) {
    Bench bench(wide_limits());
    bench.seen.batches = bench.seen.samples = 100;
    bench.seen.consumer.step.sum = bench.seen.consumer.stall.count = 100;
    bench.seen.storage.bytes = 100;
    bench.seen.lanes[7].valid = true;
    bench.seen.lanes[7].service_cpu.sum = 100;
    const Settings wanted = with(bench.seen.settings, KnobId::kWorkers, 1);
    bench.step(500, 0, bench.seen.settings);
    const std::uint64_t now = bench.seen.time_ns;
    broken(bench.seen);
    const Decision decision = bench.guard.rule(bench.seen, wanted, now);
    EXPECT_EQ(decision.applied, bench.seen.settings) << &broken - breaks;
    EXPECT_EQ(bench.hold_of(KnobId::kWorkers, decision), Hold::kBroken) << &broken - breaks;
    EXPECT_FALSE(decision.fault.view().empty()) << &broken - breaks;
  }
}

TEST(Guard, HoldsOnAnObservationThatIsMissingOrTheOneBefore) {
  Bench bench(wide_limits());
  const Settings wanted = with(bench.seen.settings, KnobId::kWorkers, 1);
  bench.step(500, 4, bench.seen.settings);
  const Decision frozen = bench.step(0, 0, wanted);
  EXPECT_EQ(frozen.applied, bench.seen.settings);
  EXPECT_EQ(bench.hold_of(KnobId::kWorkers, frozen), Hold::kStale);
  EXPECT_EQ(frozen.fault.view(), "the observation is that of the decision before");
  const Observation missing{.settings = bench.seen.settings};
  const Decision nothing = bench.guard.rule(missing, wanted, bench.seen.time_ns);
  EXPECT_EQ(nothing.applied, bench.seen.settings);
  EXPECT_EQ(nothing.fault.view(), "the observation is missing");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(bench.step(500, 4, wanted).applied[KnobId::kWorkers], i < 3 ? 16 : 12);
}

TEST(Guard, ALaneThatLeavesThePlanIsNotABrokenSignal) {
  Bench bench(wide_limits());
  bench.seen.lanes[1].valid = true;
  bench.seen.lanes[1].wait.count = 50;
  bench.step(500, 4, bench.seen.settings);
  bench.seen.lanes[1] = {};
  const Settings wanted = with(bench.seen.settings, KnobId::kWorkers, 1);
  EXPECT_EQ(bench.step(500, 4, wanted).applied[KnobId::kWorkers], 12);
}

// Whatever is proposed and whatever the signals do: inside the budget, one notch, on the clock.
class GuardProperty : public testing::TestWithParam<std::uint32_t> {
 protected:
  std::int64_t draw(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::int32_t draw_value() {
    constexpr std::int32_t kExtremes[] = {std::numeric_limits<std::int32_t>::min(),
                                          std::numeric_limits<std::int32_t>::max(), 0, -1};
    return static_cast<std::int32_t>(draw(0, 5) == 0 ? kExtremes[draw(0, 3)] : draw(0, 40));
  }
  Limits draw_limits() {
    Limits limits = native_limits(static_cast<std::int32_t>(draw(-1, 40)), static_cast<std::int32_t>(draw(1, 300)),
                                  static_cast<std::int32_t>(draw(1, 40)), draw(0, 1) == 1);
    if (draw(0, 1) == 1) limits[KnobId::kProcesses] = {1, static_cast<std::int32_t>(draw(1, 300))};
    limits.weighted = static_cast<unsigned long>(draw(0, 255));
    return limits;
  }

  std::mt19937 random_{GetParam()};
};

TEST_P(GuardProperty, HoldsForAnyProposalAndObservation) {
  struct LastMove {
    std::uint64_t time_ns, batches, samples;
  };
  const Limits limits = draw_limits();
  Guard guard(limits);
  Observation seen;
  seen.settings = initial_settings(limits);
  seen.time_ns = static_cast<std::uint64_t>(draw(0, 1) == 0 ? 0 : 1'000'000'000'000);
  std::array<std::optional<LastMove>, kKnobs + 1> last;
  int moves = 0;
  Settings proposed = seen.settings;

  for (int i = 0; i < 500; ++i) {
    if (draw(0, 3) == 0) {  // proposals that persist for a while, so that clocks and cool-downs are met
      for (auto& value : proposed.knobs) value = draw_value();
      for (auto& value : proposed.lane_weights) value = draw_value();
    }
    seen.time_ns += static_cast<std::uint64_t>(draw(0, 1) == 0 ? draw(0, 700) : draw(0, 6000)) * kMs;
    seen.batches += static_cast<std::uint64_t>(draw(0, 9));
    seen.samples += static_cast<std::uint64_t>(draw(0, 2));
    seen.process_cpu_seconds += 0.1;
    std::uint64_t now = seen.time_ns;
    Observation shown = seen;
    const auto fault = draw(0, 24);
    if (fault == 0) now += 2001 * kMs;
    if (fault == 1) shown.process_cpu_seconds = std::nan("");
    if (fault == 2 && shown.batches > 0) shown.batches -= static_cast<std::uint64_t>(draw(1, 20)) % shown.batches + 1;
    if (fault == 3) shown.time_ns += 5000 * kMs;
    const bool faulty = now != shown.time_ns || std::isnan(shown.process_cpu_seconds);

    const Decision decision = guard.rule(shown, proposed, now);
    const Settings& before = decision.before;
    const Settings& after = decision.applied;
    ASSERT_EQ(fit_settings(after, limits), after);
    if (faulty) {
      ASSERT_EQ(after, before);
    }

    const auto check_clock = [&](std::size_t at, const KnobClock& clock) {
      if (last[at]) {
        const bool samples = clock.counted == Counted::kSamples;
        EXPECT_GE(seen.time_ns - last[at]->time_ns, clock.period_ns);
        EXPECT_GE(samples ? seen.samples - last[at]->samples : seen.batches - last[at]->batches, clock.count);
      }
      last[at] = LastMove{seen.time_ns, seen.batches, seen.samples};
      ++moves;
    };
    for (const Knob& knob : knob_table()) {
      const auto at = static_cast<std::size_t>(knob.id);
      const KnobRange range(knob, limits);
      if (after[knob.id] == before[knob.id]) continue;
      const bool wants_up = proposed[knob.id] > before[knob.id];
      const std::int32_t notch = wants_up ? range.up(before[knob.id]) : range.down(before[knob.id]);
      const bool all_the_way = knob.step == KnobStep::kAny || (knob.step == KnobStep::kStart && !last[at]);
      ASSERT_EQ(after[knob.id], all_the_way ? range.fit(proposed[knob.id]) : notch);
      check_clock(at, knob.clock);
    }
    int given = 0;
    int taken = 0;
    for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
      const std::int32_t change = after.lane_weights[lane] - before.lane_weights[lane];
      (change > 0 ? given : taken) += std::abs(change);
    }
    ASSERT_EQ(given, taken);
    ASSERT_LE(given, 1);
    if (given == 1) check_clock(kKnobs, kFastClock);
    seen.settings = after;
  }
  EXPECT_GT(moves, 10);  // it guards, it does not freeze
}

INSTANTIATE_TEST_SUITE_P(TenThousandProposals, GuardProperty, testing::Range(0u, 20u));

}  // namespace
}  // namespace drapps
