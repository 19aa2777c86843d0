#include "drapps/plant/features.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <set>

#include "drapps/plant/fields.h"
#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

float named(const Features& features, std::string_view name) {
  const auto& all = feature_descriptions();
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].name == name) return features[i];
  }
  ADD_FAILURE() << "no feature " << name;
  return 0;
}

TEST(Features, EachHasANameOfItsOwn) {
  ASSERT_EQ(feature_descriptions().size(), kFeatureCount);
  std::set<std::string> names;
  for (const FeatureDescription& feature : feature_descriptions()) {
    EXPECT_TRUE(names.insert(feature.name).second) << feature.name;
    EXPECT_FALSE(feature.source.empty());
  }
}

TEST(Features, AreSharesOfWhatPassedBetween) {
  Limits limits = native_limits(4, 64, 8, true);
  limits.cpus = 4;
  Observation before{.time_ns = 1'000'000'000};
  before.consumer.stall.sum = 5;
  Observation now = before;
  now.time_ns += 1'000'000'000;
  now.samples = 1000;
  now.consumer.stall.sum += 250'000'000;
  const std::size_t prepare = lane_place(LaneRole::kPrepare);
  now.lanes[prepare] = {.valid = true, .service_wall = {.sum = 4'000'000'000}, .service_cpu = {.sum = 2'000'000'000}};
  now.workers = {.wall_ns = 4'000'000'000, .storage_ns = 1'000'000'000};
  now.storage.in_flight = 32;
  now.settings[KnobId::kIoDepth] = 64;
  now.settings[KnobId::kWorkers] = 2;
  now.upcoming = {.samples = 100, .sized = 50, .bytes = 5000, .indexed = 25};
  const Features seen = features(now, before, limits);
  EXPECT_FLOAT_EQ(named(seen, "consumer.stall"), 0.25f);
  EXPECT_FLOAT_EQ(named(seen, "prepare.work"), 1);
  EXPECT_FLOAT_EQ(named(seen, "prepare.cores"), 0.5f);
  EXPECT_FLOAT_EQ(named(seen, "prepare.stretch"), 1);
  EXPECT_FLOAT_EQ(named(seen, "workers.storage"), 0.25f);
  EXPECT_FLOAT_EQ(named(seen, "storage.depth_used"), 0.5f);
  EXPECT_FLOAT_EQ(named(seen, "upcoming.sized"), 0.5f);
  EXPECT_FLOAT_EQ(named(seen, "upcoming.indexed"), 0.25f);
  EXPECT_FLOAT_EQ(named(seen, "knob.workers"), 1.f / 3);
  EXPECT_FLOAT_EQ(named(seen, "valid.prepare"), 1);
  EXPECT_FLOAT_EQ(named(seen, "valid.decode"), 0);
  EXPECT_EQ(features(now, before, limits), seen);
}

TEST(Features, OfKnobsCountNotchesFromTheLowest) {
  Limits limits = native_limits(4, 64, 8);
  limits[KnobId::kDecodeOnGpu] = {0, 16};
  limits[KnobId::kRemoteWorkers] = {0, 5};
  const auto seen = [&](KnobId id, std::int32_t value, std::string_view name) {
    Observation now;
    now.settings[id] = value;
    return named(features(now, {}, limits), name);
  };
  EXPECT_FLOAT_EQ(seen(KnobId::kDecodeOnGpu, 0, "knob.decode_on_gpu"), 0);
  EXPECT_FLOAT_EQ(seen(KnobId::kDecodeOnGpu, 1, "knob.decode_on_gpu"), 1.f / 16);
  EXPECT_FLOAT_EQ(seen(KnobId::kDecodeOnGpu, 16, "knob.decode_on_gpu"), 1);
  EXPECT_FLOAT_EQ(seen(KnobId::kRemoteWorkers, 4, "knob.remote_workers"), 0.8f);
  EXPECT_FLOAT_EQ(seen(KnobId::kRemoteWorkers, 5, "knob.remote_workers"), 1);
  EXPECT_FLOAT_EQ(seen(KnobId::kAugmentOnGpu, 3, "knob.augment_on_gpu"), 0) << "the plant has no such knob";
}

TEST(Features, OfAKnobWithoutOrderSayWhichValueItHas) {
  Limits limits = native_limits(4);
  Observation now;
  now.settings[KnobId::kForm] = 2;
  EXPECT_FLOAT_EQ(named(features(now, {}, limits), "knob.form.raw"), 0) << "the plant has no such knob";
  limits[KnobId::kForm] = {0, 6};
  EXPECT_FLOAT_EQ(named(features(now, {}, limits), "knob.form.raw"), 1);
  EXPECT_FLOAT_EQ(named(features(now, {}, limits), "knob.form.bytes"), 0);
  now.settings[KnobId::kForm] = 0;
  EXPECT_FLOAT_EQ(named(features(now, {}, limits), "knob.form.bytes"), 1);
}

TEST(Features, OfTheMachineAreThereWhereTheirMetersAre) {
  Limits limits = native_limits(4, 64, 8, true);
  limits.cpus = 4;
  Observation before{.time_ns = 1'000'000'000};
  Observation now{.time_ns = 2'000'000'000};
  MachineReadings readings{};
  const auto at = [&](double value) { return reading(value, now.time_ns); };
  readings.cpu.use_mean = at(0.75);
  readings.cpu.steal_mean = at(0);
  readings.tasks.threads_wait = at(2);
  readings.memory.available = at(3e9);
  readings.memory.total = at(4e9);
  readings.cgroup.memory_used = at(1e9);
  readings.disk.data_read_time = at(0.004);
  now.meters = observation_of(readings, now.time_ns);
  const Features seen = features(now, before, limits);
  EXPECT_FLOAT_EQ(named(seen, "meter.cpu_use"), 0.75f);
  EXPECT_FLOAT_EQ(named(seen, "meter_valid.cpu_use"), 1);
  EXPECT_FLOAT_EQ(named(seen, "meter.cpu_steal"), 0);
  EXPECT_FLOAT_EQ(named(seen, "meter_valid.cpu_steal"), 1);
  EXPECT_FLOAT_EQ(named(seen, "meter.threads_wait"), 0.5f);
  EXPECT_FLOAT_EQ(named(seen, "meter.memory_available"), 0.75f);
  EXPECT_FLOAT_EQ(named(seen, "meter.disk_read_time"), 2);
  EXPECT_FLOAT_EQ(named(seen, "meter_valid.cgroup_memory"), 0);  // there is no limit
  EXPECT_FLOAT_EQ(named(seen, "meter_valid.gpu_use_mean"), 0);
}

TEST(Features, HaveNoScaleOfTheirOwn) {
  // A plant that does everything twice as fast in half of the time looks the same.
  Limits limits = native_limits(4, 64, 8, true);
  limits.cpus = 2;
  const auto seen = [&](std::uint64_t unit) {
    Observation before{.time_ns = 1'000'000'000};
    Observation now = before;
    now.time_ns += 1000 * unit;
    now.samples = 64;
    now.consumer.stall.sum = 100 * unit;
    now.consumer.step = {.count = 4, .sum = 900 * unit, .p50 = 200 * unit, .p90 = 400 * unit};
    now.lanes[lane_place(LaneRole::kPrepare)].service_wall.sum = 1500 * unit;
    now.lanes[lane_place(LaneRole::kPrepare)].service_cpu.sum = 1200 * unit;
    now.workers = {.wall_ns = 2000 * unit, .window_ns = 100 * unit};
    return features(now, before, limits);
  };
  EXPECT_EQ(seen(1000), seen(1'000'000));
}

TEST(Features, StayWithinBoundsWhateverIsSeen) {
  std::mt19937_64 random(7);
  const auto noise = [&] {
    ObservationWords words;
    for (std::uint64_t& word : words) word = random() >> (random() % 64);
    Observation seen = observation_of(words);
    seen.process_cpu_seconds = random() % 2 == 0 ? std::numeric_limits<double>::quiet_NaN() : 1e300;
    return seen;
  };
  for (int i = 0; i < 2000; ++i) {
    Limits limits = native_limits(static_cast<std::int32_t>(random() % 100), 64, 8, true);
    limits.cpus = i % 3 == 0 ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(i % 5);
    const Features values = features(noise(), noise(), limits);
    for (std::size_t f = 0; f < values.size(); ++f) {
      ASSERT_TRUE(std::isfinite(values[f]) && std::abs(values[f]) <= 5) << feature_descriptions()[f].name;
    }
  }
}

}  // namespace
}  // namespace drapps
