#include "drapps/control/live_plant.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "drapps/control/controller.h"
#include "drapps/control/fewer_test.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/initial.h"
#include "drapps/policy/policies_test.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using std::chrono_literals::operator""ms;

/// Of batches so large that memory never has room for two.
std::shared_ptr<const Plan> large_batches() {
  static const std::vector<std::uint8_t> picture = testing_pictures::png(20, 24, 1);
  PipelineSpec spec;
  spec.parts = {testing_pictures::picture_part({.ops = {CenterCrop{.height = 8192, .width = 8192}}})};
  spec.sampler.batch = 1 << 14;
  return *Plan::make(spec, **MemorySource::make({MemorySource::Bytes(picture)}, nullptr));
}

/// Counts what the test says, and remembers what was applied.
class CountingRunner final : public Runner {
 public:
  explicit CountingRunner(std::shared_ptr<const Plan> plan = large_batches()) : plan_(std::move(plan)) {}
  void count(std::uint64_t batches) {
    for (std::uint64_t i = 0; i < batches; ++i) {
      counted_[lane_place(LaneRole::kPrepare)].service_wall.record(7);
      counted_[lane_place(LaneRole::kDecode)].service_wall.record(2);
      counted_[lane_place(LaneRole::kDecode)].wait.record(3);
    }
    counted_.batches += batches;
    counted_.samples += 8 * batches;
    counted_.device.launches += batches;
    counted_.device.bytes_in += 2 * batches;
    counted_.device.bytes_out += 3 * batches;
    counted_.device.copy_ns += 4 * batches;
    counted_.device.kernel_ns += 5 * batches;
  }

  void apply(const Settings& settings) override { applied.push_back(settings); }
  const Metrics& metrics() const noexcept override { return counted_; }
  device::DeviceCounters& device_counters() noexcept override { return counted_.device; }
  std::uint32_t ready_batches() const override { return 3; }
  Upcoming upcoming() const override { return {5, 4, 400, 3, 30, 2}; }

  std::optional<Next> next(std::chrono::milliseconds) override { return Finished{}; }
  const Plan& plan() const noexcept override { return *plan_; }
  std::shared_ptr<SlotArena> arena() const noexcept override { return arena_; }
  bool ready() const override { return true; }
  std::uint64_t position() const override { return 0; }
  std::uint64_t left() const override { return 0; }
  std::vector<Error> bad_samples() const override { return {}; }
  std::vector<Error> take_bad_samples() noexcept override { return {}; }

  std::vector<Settings> applied;

 private:
  const std::shared_ptr<const Plan> plan_;
  const std::shared_ptr<SlotArena> arena_ =
      *SlotArena::make(plan_->layout.bytes(), Engine::get().memory(MemoryUse::kBatches));
  Metrics counted_;
};

struct Passes {
  explicit Passes(std::int32_t depth = 8) : limits(some_limits(depth)) {}
  static Limits some_limits(std::int32_t depth) {
    Limits limits = native_limits(Engine::get().max_workers(), 64, depth, true);
    limits.weighted.set(lane_place(LaneRole::kDecode));
    return limits;
  }
  std::int32_t depth() const { return plant->observe().settings[KnobId::kPrefetchDepth]; }

  Limits limits;
  std::shared_ptr<LivePlant> plant =
      std::make_shared<LivePlant>(Engine::get(), Storage::files(), initial_settings(limits), limits);
};

TEST(LivePlant, CountsAllPassesThatWereAndAre) {
  Passes passes;
  LivePlant& plant = *passes.plant;
  CountingRunner lasting;
  plant.attach(lasting, passes.limits);
  lasting.count(3);
  for (std::uint64_t pass = 0; pass < 4; ++pass) {
    CountingRunner brief;
    plant.attach(brief, passes.limits);
    brief.count(2);
    const Observation during = plant.observe();
    EXPECT_EQ(during.ready_batches, 6u);
    EXPECT_EQ(during.upcoming.samples, 10u);
    EXPECT_EQ(during.upcoming.bytes, 800u);
    EXPECT_EQ(during.upcoming.pixels, 60u);
    EXPECT_EQ(during.upcoming.indexed, 4u);
    EXPECT_FALSE(during.finished);
    plant.detach(brief);
    brief.count(100);  // what it still does is not counted
    const Observation after = plant.observe();
    EXPECT_EQ(after.ready_batches, 3u);
    EXPECT_EQ(during.batches, 5 + 2 * pass);
    EXPECT_EQ(after.batches, during.batches);
    EXPECT_EQ(after.samples, 8 * after.batches);
    EXPECT_EQ(after.device.launches, after.batches);
    EXPECT_EQ(after.device.bytes_in, 2 * after.batches);
    EXPECT_EQ(after.device.bytes_out, 3 * after.batches);
    EXPECT_EQ(after.device.copy_ns, 4 * after.batches);
    EXPECT_EQ(after.device.kernel_ns, 5 * after.batches);
    EXPECT_EQ(plant.stats().device.kernel_ns, after.device.kernel_ns);
    EXPECT_EQ(after.lanes[lane_place(LaneRole::kPrepare)].service_wall.sum, 7 * after.batches);
    EXPECT_EQ(during.lanes[lane_place(LaneRole::kPrepare)].service_wall.p50, 7u);
    EXPECT_EQ(after.lanes[lane_place(LaneRole::kPrepare)].service_wall.p50, 0u) << "nothing came since";
    EXPECT_EQ(after.lanes[lane_place(LaneRole::kDecode)].wait.sum, 3 * after.batches);
  }
  lasting.count(5);
  plant.detach(lasting);
  plant.detach(lasting);
  EXPECT_EQ(plant.observe().batches, 16u);
}

TEST(LivePlant, IsFinishedWhereNothingIsAttached) {
  Passes passes;
  EXPECT_TRUE(passes.plant->observe().finished);
  CountingRunner runner;
  passes.plant->attach(runner, passes.limits);
  EXPECT_FALSE(passes.plant->observe().finished);
  passes.plant->detach(runner);
  EXPECT_TRUE(passes.plant->observe().finished);
  EXPECT_EQ(passes.plant->observe().ready_batches, 0u);
}

TEST(LivePlant, MovesAllPassesThatLiveAndThoseToCome) {
  Passes passes;
  LivePlant& plant = *passes.plant;
  CountingRunner one;
  CountingRunner two;
  CountingRunner later;
  plant.attach(one, passes.limits);
  plant.attach(two, passes.limits);
  Settings settings = plant.observe().settings;
  settings[KnobId::kPrefetchDepth] = 6;
  plant.apply(settings);
  EXPECT_EQ(one.applied.back(), settings);
  EXPECT_EQ(two.applied.back(), settings);
  plant.detach(one);
  plant.detach(two);
  settings[KnobId::kPrefetchDepth] = 8;
  plant.apply(settings);  // between two passes
  EXPECT_NE(one.applied.back(), settings);
  EXPECT_EQ(passes.depth(), 8);
  plant.attach(later, passes.limits);
  EXPECT_EQ(later.applied.back(), settings);
  plant.detach(later);
}

TEST(LivePlant, APassBeginsWithinTheLimitsOfNow) {
  Passes passes;
  LivePlant& plant = *passes.plant;
  CountingRunner wide;
  CountingRunner narrow;
  plant.attach(wide, passes.limits);
  EXPECT_EQ(passes.depth(), 4);
  plant.attach(narrow, Passes::some_limits(2));
  EXPECT_EQ(plant.limits()[KnobId::kPrefetchDepth].high, 2);
  EXPECT_EQ(passes.depth(), 2);
  EXPECT_EQ(wide.applied.back(), narrow.applied.back());  // one plant, one setting
  plant.detach(wide);
  plant.detach(narrow);
}

TEST(LivePlant, MemoryThatOthersGiveBackIsForThePassThatLives) {
  PipelineSpec spec;
  spec.parts = {testing_pictures::picture_part({.ops = {CenterCrop{.height = 16, .width = 16}}})};
  spec.sampler.batch = 1 << 10;
  static const std::vector<std::uint8_t> picture = testing_pictures::png(20, 24, 1);
  const auto plan = *Plan::make(spec, **MemorySource::make({MemorySource::Bytes(picture)}, nullptr));
  const std::size_t batch = plan->layout.bytes();
  const auto budget = Engine::get().limit({.bytes = 40 * batch});
  Passes passes;
  MemoryLedger other(&Engine::get().memory(MemoryUse::kBatches));
  CountingRunner runner(plan);
  const auto depth = [&] { return passes.plant->limits()[KnobId::kPrefetchDepth].high; };

  ASSERT_TRUE(other.try_reserve(30 * batch));
  passes.plant->attach(runner, live_limits(*plan, Engine::get(), nullptr));
  EXPECT_EQ(depth(), 5);
  Slot* own = *runner.arena()->acquire();
  EXPECT_EQ(depth(), 5);
  other.set_used(0);
  EXPECT_EQ(depth(), 20);
  ASSERT_TRUE(other.try_reserve(36 * batch));
  EXPECT_EQ(depth(), 5);  // what the pass began with
  runner.arena()->abandon(own);
  passes.plant->detach(runner);
}

TEST(LivePlant, ReadsAreAsManyAsMemoryHasRoomForRecords) {
  PipelineSpec spec;
  spec.parts = {testing_pictures::picture_part({.ops = {CenterCrop{.height = 16, .width = 16}}})};
  static const std::vector<std::uint8_t> picture = testing_pictures::png(20, 24, 1);
  const auto plan = *Plan::make(spec, **MemorySource::make({MemorySource::Bytes(picture)}, nullptr));
  const auto budget = Engine::get().limit({.bytes = 1 << 20});
  Passes passes;
  MemoryLedger other(&Engine::get().memory(MemoryUse::kBatches));
  CountingRunner runner(plan);  // of records of 100 bytes
  const auto most = [&] { return passes.plant->limits()[KnobId::kIoDepth].high; };

  passes.plant->attach(runner, live_limits(*plan, Engine::get(), nullptr));
  EXPECT_EQ(most(), 256);
  ASSERT_TRUE(other.try_reserve((1 << 20) - 20'000));
  EXPECT_EQ(most(), 32);  // half of 20,000, and of the 1,600 that 8 reads have, is 54 records twice
  other.set_used(1 << 20);
  EXPECT_EQ(most(), 4);
  passes.plant->detach(runner);
}

TEST(LivePlant, PassesComeAndGoInSeveralThreadsUnderControl) {
  const Passes passes;
  const auto client = std::make_shared<Client>(passes.plant, std::make_unique<RandomWalk>(1, true));
  Controller controller({.tick = 1ms});
  {
    std::vector<std::jthread> threads;
    for (std::uint32_t t = 0; t < 4; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint32_t pass = 0; pass < 50; ++pass) {
          CountingRunner runner;
          client->begin_epoch(4 * pass + t);
          passes.plant->attach(runner, passes.limits);
          controller.add(client);
          runner.count(3);
          std::this_thread::sleep_for(1ms);
          passes.plant->detach(runner);
          controller.remove(client);
        }
      });
    }
  }
  const Observation seen = passes.plant->observe();
  EXPECT_EQ(seen.batches, 600u);
  EXPECT_TRUE(seen.finished);
  EXPECT_EQ(client->log().stop_reason(), "");
}

TEST(LivePlant, ClocksAndCoolDownsLastFromPassToPass) {
  Passes passes;
  Settings settings = passes.plant->observe().settings;
  settings[KnobId::kPrefetchDepth] = 8;
  passes.plant->apply(settings);
  Client client(passes.plant, std::make_unique<Fewer>(KnobId::kPrefetchDepth, 2));
  std::vector<std::int32_t> seen;
  for (std::uint32_t epoch = 0; epoch < 4; ++epoch) {
    // Two passes, either too short for a decision, make one.
    for (int half = 0; half < 2; ++half) {
      CountingRunner runner;
      client.begin_epoch(epoch);
      passes.plant->attach(runner, passes.limits);
      runner.count(2);
      if (half == 1) std::this_thread::sleep_for(500ms);
      client.tick(monotonic_ns);
      passes.plant->detach(runner);
      client.tick(monotonic_ns);  // nobody to ask
    }
    seen.push_back(passes.depth());
  }
  EXPECT_EQ(seen, (std::vector<std::int32_t>{6, 6, 4, 4}));
  const auto log = client.log().to_json();
  EXPECT_EQ(log["totals"]["decisions"], 4);
  std::vector<std::uint32_t> epochs;
  for (const auto& entry : log["entries"]) {
    if (entry["before"] != entry["applied"]) epochs.push_back(entry["epoch"]);
  }
  EXPECT_EQ(epochs, (std::vector<std::uint32_t>{0, 2}));
  EXPECT_EQ(log["entries"][1]["held"], "cooling down");
}

}  // namespace
}  // namespace drapps
