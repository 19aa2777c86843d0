#include "drapps/policy/depth_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/guard.h"
#include "drapps/policy/initial.h"

namespace drapps {
namespace {

/// A loader by its rates alone: what its storage gives with so many reads at once, its workers, and the consumer.
struct WatchedPlant {
  double latency = 0.005;      // seconds of a read
  double bandwidth = 1e9;      // samples/s that the storage has, however many reads are under way
  double cpu = 0.0005;         // seconds of a sample, on one of two workers
  double own = 0.032;          // seconds that the consumer keeps a batch
  double refused = 0;          // refusals to a request
  double most_requests = 1e9;  // in a second; beyond, they are refused, and the time of asking again is lost
  static constexpr double kRows = 64;

  WatchedPlant() {
    seen.settings = initial_settings(state.limits);
    for (const LaneRole role : {LaneRole::kFetch, LaneRole::kPrepare}) seen.lanes[lane_place(role)].valid = true;
  }

  /// One decision of a control thread, half a second later.
  void decide() {
    const double depth = seen.settings[KnobId::kIoDepth];
    double read_rate = std::min(depth / latency, bandwidth);
    double refusals = refused;
    if (read_rate > most_requests) {
      refusals += read_rate / most_requests - 1;
      read_rate = most_requests * most_requests / read_rate;
    }
    const double rate = std::min({read_rate, 2 / cpu, kRows / own});
    constexpr double kSeconds = 0.5;
    const double batches = kSeconds * rate / kRows;
    const double samples = kSeconds * rate;
    time += kSeconds;
    seen.time_ns = ns(time);
    add(seen.storage.waited, samples, depth / read_rate);
    add(seen.lanes[lane_place(LaneRole::kFetch)].service_cpu, samples, 0);
    add(seen.lanes[lane_place(LaneRole::kPrepare)].service_cpu, samples, cpu);
    add(seen.consumer.step, batches, kRows / rate);
    add(seen.consumer.stall, batches, kRows / rate - own);
    seen.consumer.passes = 1;
    done += samples;
    seen.samples = static_cast<std::uint64_t>(done);
    seen.batches = static_cast<std::uint64_t>(done / kRows);
    seen.workers.wall_ns += ns(2 * kSeconds);
    seen.workers.storage_ns += ns(std::max(0.0, 2 * kSeconds - samples * cpu));
    seen.storage.refusals += static_cast<std::uint64_t>(std::ceil(refusals * samples));
    const Settings proposed = policy.decide(seen, state);
    deepest = std::max(deepest, proposed[KnobId::kIoDepth]);
    seen.settings = guard.rule(seen, proposed, seen.time_ns).applied;
  }
  void run(double seconds) {
    for (const double until = time + seconds; time < until;) decide();
  }

  static std::uint64_t ns(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }
  static void add(Spread& spread, double count, double seconds) {
    spread.count += static_cast<std::uint64_t>(count);
    spread.sum += ns(count * std::max(0.0, seconds));
  }

  static Limits two_workers() {
    Limits limits = native_limits(2, 256, 32);
    limits.cpus = 2;
    return limits;
  }

  PolicyState state{.limits = two_workers()};
  Observation seen;
  Guard guard{state.limits};
  Initial policy;
  double time = 10;
  double done = 0;
  std::int32_t deepest = 0;  // that was proposed
};

TEST(DepthWatch, FollowsAStorageThatBecomesSlower) {
  WatchedPlant plant;
  plant.run(10);
  EXPECT_EQ(plant.seen.settings[KnobId::kIoDepth], 32);  // 2,000 samples/s × 5 ms, times 2.5, is 25
  plant.latency = 0.05;
  plant.run(15);
  EXPECT_EQ(plant.seen.settings[KnobId::kIoDepth], 256);
  EXPECT_GE(plant.seen.settings[KnobId::kPrefetchDepth], 5);
}

TEST(DepthWatch, StaysWhereTheTrainingDoesNotWait) {
  WatchedPlant plant;
  plant.run(10);
  plant.own = 0.3;  // 213 samples/s are what 32 reads of 50 ms give three times
  plant.latency = 0.05;
  plant.run(60);
  EXPECT_EQ(plant.seen.settings[KnobId::kIoDepth], 32);
}

TEST(DepthWatch, GoesBackWhereTheBandwidthIsUsedUpAndTriesSeldom) {
  WatchedPlant plant;
  plant.run(10);
  plant.bandwidth = 500;
  plant.deepest = 0;
  plant.run(20);
  EXPECT_GT(plant.deepest, 32);
  EXPECT_EQ(plant.seen.settings[KnobId::kIoDepth], 32);
  plant.deepest = 0;
  plant.run(20);
  EXPECT_EQ(plant.deepest, 32) << "it rests";
  int tries = 0;
  for (int i = 0; i < 600; ++i) {
    plant.deepest = 0;
    plant.run(1);
    tries += plant.deepest > 32 ? 1 : 0;
  }
  EXPECT_GE(tries, 1);
  EXPECT_LE(tries, 60) << "seconds of ten minutes";
  EXPECT_EQ(plant.seen.settings[KnobId::kIoDepth], 32);
}

TEST(DepthWatch, AsksForFewerReadsWhereTheStorageRefusesAsLongAsThatIsWorthIt) {
  WatchedPlant plant;
  plant.run(10);
  plant.latency = 0.04;
  plant.most_requests = 400;  // 16 at once
  plant.run(15);
  EXPECT_EQ(plant.seen.settings[KnobId::kIoDepth], 16);
  int there = 0;
  for (int i = 0; i < 600; ++i) {
    plant.run(1);
    there += plant.seen.settings[KnobId::kIoDepth] == 16 ? 1 : 0;
  }
  EXPECT_GE(there, 540) << "more are tried seldom";
}

TEST(DepthWatch, AsksForNoMoreReadsOfAStorageThatRefusesSome) {
  WatchedPlant plant;
  plant.run(10);
  plant.latency = 0.05;
  plant.refused = 0.01;
  plant.run(30);
  EXPECT_EQ(plant.seen.settings[KnobId::kIoDepth], 32);
}

TEST(DepthWatch, LeavesTheTurnToAnotherLoader) {
  WatchedPlant plant;
  plant.run(10);
  plant.latency = 0.05;
  plant.seen.turn = Turn::kTaken;
  plant.run(30);
  EXPECT_EQ(plant.seen.settings[KnobId::kIoDepth], 32);
  plant.seen.turn = Turn::kOpen;
  plant.run(15);
  EXPECT_EQ(plant.seen.settings[KnobId::kIoDepth], 256);
}

TEST(DepthWatch, KnowsNoMemoryThatIsNoneOfItsOwn) {
  WatchedPlant plant;
  EXPECT_TRUE(plant.policy.knows(plant.state));
  plant.run(30);
  EXPECT_TRUE(plant.policy.knows(plant.state));
  plant.state.memory.fill(std::byte{0xFF});
  EXPECT_FALSE(plant.policy.knows(plant.state));
}

}  // namespace
}  // namespace drapps
