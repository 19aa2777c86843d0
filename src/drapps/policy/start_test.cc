#include "drapps/policy/start.h"

#include <gtest/gtest.h>

#include <string_view>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/guard.h"
#include "drapps/policy/hill_climb.h"
#include "drapps/policy/initial.h"

namespace drapps {
namespace {

/// A loader on a storage, by its counts alone.
struct SlowStorage {
  double latency = 0.05;  // seconds of a read
  double cpu = 0.001;     // of a sample
  double own = 0.0001;    // seconds that the consumer keeps a batch
  std::uint64_t rows = 64;

  SlowStorage() {
    state.limits = native_limits(4, 256, 32);
    state.limits.cpus = 4;
    seen.settings = initial_settings(state.limits);
    seen.time_ns = 1'000'000'000;
    for (const LaneRole role : {LaneRole::kFetch, LaneRole::kPrepare}) seen.lanes[lane_place(role)].valid = true;
  }

  /// So many batches; the consumer waits for them as long as `waits` says.
  void run(std::uint64_t batches, double waits = 0.1) {
    for (std::uint64_t batch = 0; batch < batches; ++batch) {
      for (std::uint64_t row = 0; row < rows; ++row) {
        record(seen.storage.waited, latency);
        record(seen.lanes[lane_place(LaneRole::kFetch)].service_cpu, 0);
        record(seen.lanes[lane_place(LaneRole::kPrepare)].service_cpu, cpu);
      }
      record(seen.consumer.step, own + waits);
      record(seen.consumer.stall, waits);
      seen.batches += 1;
      seen.samples += rows;
      seen.time_ns += ns(own + waits);
    }
  }

  std::optional<Settings> look() { return start_depths(start, seen, state); }

  static std::uint64_t ns(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }
  static void record(Spread& spread, double seconds) {
    ++spread.count;
    spread.sum += ns(seconds);
  }

  PolicyState state;
  Observation seen;
  Start start{};
};

TEST(Start, RowsThatReadForThemselvesTakeManyReadsOrPartsOfOne) {
  for (const auto& [reads, depth] : {std::pair{0.1, 8}, {1.0, 64}, {3.0, 256}}) {  // 400 samples/s × 50 ms = 20
    SlowStorage plant;
    plant.cpu = 0.01;
    plant.seen.lanes[lane_place(LaneRole::kFetch)].valid = false;
    const auto run = [&] {
      plant.run(40);
      plant.seen.storage.waited.count = static_cast<std::uint64_t>(static_cast<double>(plant.seen.samples) * reads);
      plant.seen.storage.waited.sum = plant.seen.storage.waited.count * SlowStorage::ns(plant.latency);
    };
    run();
    EXPECT_FALSE(plant.look());
    run();
    const Settings wanted = plant.look().value_or(plant.seen.settings);
    EXPECT_EQ(wanted[KnobId::kIoDepth], depth) << plant.state.why.view();
  }
}

TEST(Start, AStorageThatRefusesIsNotAskedForMore) {
  SlowStorage plant;
  plant.run(4);
  EXPECT_FALSE(plant.look());
  plant.run(4);
  plant.seen.storage.refusals = 3;
  const auto stays = plant.look();
  ASSERT_TRUE(stays);
  EXPECT_EQ(*stays, plant.seen.settings);
  EXPECT_EQ(plant.state.why.view(), "the storage has refused 3 requests: io_depth stays");
  plant.run(4);
  EXPECT_FALSE(plant.look()) << "that has ended it";
}

TEST(Start, AsksForRateTimesLatencyAndAMargin) {
  SlowStorage plant;  // 4,000 samples/s × 50 ms = 200
  EXPECT_FALSE(plant.look());
  plant.run(4);
  EXPECT_FALSE(plant.look());  // from here on it meters
  plant.run(4);
  const auto wanted = plant.look();
  ASSERT_TRUE(wanted);
  EXPECT_EQ((*wanted)[KnobId::kIoDepth], 256);
  EXPECT_EQ((*wanted)[KnobId::kPrefetchDepth], 6);  // 256 / 64 + 1 is none of the grid
  EXPECT_EQ(plant.state.why.view(), "4000 samples/s, whose reads take 50.00 ms, are 200.0 reads at once");

  SlowStorage faster;
  faster.latency = 0.005;  // 20, times 2.5
  faster.run(1);
  EXPECT_FALSE(faster.look());
  faster.run(1);
  ASSERT_TRUE(faster.look());
  EXPECT_EQ((*faster.look())[KnobId::kIoDepth], 64);
  EXPECT_EQ((*faster.look())[KnobId::kPrefetchDepth], 4);
}

TEST(Start, WhatWasBeforeTheMeteringDoesNotCount) {
  SlowStorage plant;
  plant.latency = 2;  // a storage that has to wake up
  plant.run(1);
  EXPECT_FALSE(plant.look());
  plant.latency = 0.005;
  plant.run(1);
  ASSERT_TRUE(plant.look());
  EXPECT_EQ((*plant.look())[KnobId::kIoDepth], 64);
}

TEST(Start, TakesTheConsumersPaceWhereThatIsLess) {
  SlowStorage plant;
  plant.own = 0.064;  // 1,000 samples/s: 50 reads, times 2.5
  plant.run(1);
  EXPECT_FALSE(plant.look());
  plant.run(3);
  ASSERT_TRUE(plant.look());
  EXPECT_EQ((*plant.look())[KnobId::kIoDepth], 256) << "of three steps it is not known";

  SlowStorage known;
  known.own = 0.064;
  known.run(1);
  EXPECT_FALSE(known.look());
  known.run(4);
  ASSERT_TRUE(known.look());
  EXPECT_EQ((*known.look())[KnobId::kIoDepth], 128);
}

TEST(Start, CountsNoMoreWorkersThanCores) {
  SlowStorage plant;
  plant.state.limits.cpus = 0.5;  // 500 samples/s: 25 reads, times 2.5
  plant.run(1);
  EXPECT_FALSE(plant.look());
  plant.run(4);
  ASSERT_TRUE(plant.look());
  EXPECT_EQ((*plant.look())[KnobId::kIoDepth], 64);
}

TEST(Start, StaysWithinTheLimitsAndNeverBelowWhatStands) {
  SlowStorage plant;
  plant.state.limits[KnobId::kIoDepth].high = 100;
  plant.state.limits[KnobId::kPrefetchDepth].high = 5;
  plant.rows = 16;
  plant.run(4);
  EXPECT_FALSE(plant.look());
  plant.run(4);
  ASSERT_TRUE(plant.look());
  EXPECT_EQ((*plant.look())[KnobId::kIoDepth], 100);
  EXPECT_EQ((*plant.look())[KnobId::kPrefetchDepth], 5);

  SlowStorage deep;
  deep.latency = 0.001;
  deep.seen.settings[KnobId::kIoDepth] = 64;
  deep.run(1);
  EXPECT_FALSE(deep.look());
  deep.run(1);
  EXPECT_FALSE(deep.look());
  EXPECT_EQ(deep.start.phase, Start::StartPhase::kEnded);
}

TEST(Start, EndsOnceTheKnobsStandThereAndBeginsNoSecondTime) {
  SlowStorage plant;
  plant.run(1);
  EXPECT_FALSE(plant.look());
  plant.run(1);
  plant.seen.settings = plant.look().value();
  EXPECT_FALSE(plant.look());
  plant.latency = 1;
  plant.seen.settings[KnobId::kIoDepth] = 1;
  for (int i = 0; i < 10; ++i) {
    plant.run(4);
    EXPECT_FALSE(plant.look());
  }
}

TEST(Start, GivesUpOnKnobsThatDoNotMove) {
  SlowStorage plant;
  plant.run(1);
  EXPECT_FALSE(plant.look());
  int asked = 0;
  for (int i = 0; i < 100; ++i) {
    plant.run(1);
    asked += plant.look() ? 1 : 0;
  }
  EXPECT_EQ(asked, 30);
  EXPECT_EQ(plant.start.phase, Start::StartPhase::kEnded);
}

TEST(Start, MetersAnewWhereTheCountsAreThoseOfAnotherPlant) {
  SlowStorage plant;
  plant.run(10);
  EXPECT_FALSE(plant.look());
  SlowStorage other;
  other.start = plant.start;
  other.latency = 0.005;
  other.run(4);
  EXPECT_FALSE(other.look());
  other.run(4);
  ASSERT_TRUE(other.look());
  EXPECT_EQ((*other.look())[KnobId::kIoDepth], 64);
}

TEST(Start, SaysNothingWithoutReadsOrSamples) {
  SlowStorage plant;
  for (int i = 0; i < 10; ++i) {
    plant.seen.batches += 4;
    EXPECT_FALSE(plant.look());
  }
  plant.run(1);
  plant.seen.samples = 0;
  EXPECT_FALSE(plant.look());
  plant.run(1);
  plant.seen.samples = 0;
  EXPECT_FALSE(plant.look());
  plant.run(1);
  EXPECT_TRUE(plant.look());
}

/// Decisions until nothing moves any more, as a control thread makes them.
template <class P>
Settings controlled(SlowStorage& plant, int decisions) {
  const P policy;
  Guard guard(plant.state.limits);
  for (int i = 0; i < decisions; ++i) {
    plant.run(6);
    const Settings proposed = policy.decide(plant.seen, plant.state);
    plant.seen.settings = guard.rule(plant.seen, proposed, plant.seen.time_ns).applied;
  }
  return plant.seen.settings;
}

TEST(Start, IsWhatInitialDoesOnce) {
  SlowStorage plant;
  const Settings begun = plant.seen.settings;
  Settings settings = controlled<Initial>(plant, 2);
  EXPECT_EQ(settings[KnobId::kIoDepth], 256);
  EXPECT_EQ(settings[KnobId::kPrefetchDepth], 6);
  plant.latency = 0.1;
  EXPECT_EQ(controlled<Initial>(plant, 20), settings);
  settings[KnobId::kIoDepth] = begun[KnobId::kIoDepth];
  settings[KnobId::kPrefetchDepth] = begun[KnobId::kPrefetchDepth];
  EXPECT_EQ(settings, begun);
}

TEST(Start, ComesBeforeTheFirstTrialOfAClimb) {
  SlowStorage plant;
  EXPECT_EQ(controlled<HillClimb>(plant, 2)[KnobId::kIoDepth], 256);
  EXPECT_EQ(plant.seen.settings[KnobId::kPrefetchDepth], 6);
  controlled<HillClimb>(plant, 20);
  EXPECT_NE(plant.state.why.view().find("workers"), std::string_view::npos) << plant.state.why.view();
}

TEST(Start, RepeatsFromTheSameState) {
  SlowStorage one;
  SlowStorage two;
  for (SlowStorage* plant : {&one, &two}) controlled<HillClimb>(*plant, 7);
  EXPECT_EQ(one.seen.settings, two.seen.settings);
  EXPECT_EQ(one.state.memory, two.state.memory);
}

}  // namespace
}  // namespace drapps
