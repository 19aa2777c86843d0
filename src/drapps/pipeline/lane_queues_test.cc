#include "drapps/pipeline/lane_queues.h"

#include <gtest/gtest.h>

#include <memory>
#include <utility>
#include <vector>

namespace drapps {
namespace {

constexpr std::size_t kFirstLane = lane_place(LaneRole::kDecode);
constexpr std::size_t kSecondLane = lane_place(LaneRole::kAugment);
constexpr std::size_t kOtherFirstLane = lane_place(LaneRole::kPrepare);

class LaneQueuesTest : public testing::Test {
 protected:
  static PlanLanes lanes() {
    PlanLanes lanes;
    lanes.fused.push_back({.place = kOtherFirstLane, .work = {}});
    lanes.split.push_back({.place = kFirstLane, .work = {}, .next = 1});
    lanes.split.push_back({.place = kSecondLane, .work = {}});
    return lanes;
  }
  SampleTask& task(std::uint64_t step, std::uint32_t row) {
    tasks_.push_back(std::make_unique<SampleTask>(MemoryLedger::unlimited()));
    tasks_.back()->place = {.step = step, .row = row};
    queues_.reserve(tasks_.size());
    return *tasks_.back();
  }

  const PlanLanes lanes_ = lanes();
  Metrics metrics_;
  LaneQueues queues_{lanes_, metrics_};
  std::vector<std::unique_ptr<SampleTask>> tasks_;
};

TEST_F(LaneQueuesTest, TheEarliestSampleIsTakenFirst) {
  SampleTask& last = task(1, 0);
  SampleTask& first = task(0, 1);
  SampleTask& second = task(0, 3);
  EXPECT_EQ(queues_.entering(), nullptr);
  for (SampleTask* one : {&last, &first, &second}) queues_.enter(*one, kFirstLane);
  EXPECT_EQ(queues_.entering(), &first);
  EXPECT_EQ(queues_.all_entering().size(), 3u);
  EXPECT_EQ(&queues_.take_entering(kFirstLane), &first);
  EXPECT_EQ(&queues_.take_entering(kFirstLane), &second);
  EXPECT_EQ(&queues_.take_entering(kFirstLane), &last);
  EXPECT_EQ(metrics_[kFirstLane].queue_length.counts().count, 3u);
  EXPECT_EQ(metrics_[kFirstLane].wait.counts().count, 3u);
}

TEST_F(LaneQueuesTest, AnInnerLaneIsServedWhenATaskIsPassedOnToIt) {
  SampleTask& one = task(0, 0);
  EXPECT_EQ(queues_.pick(kFirstLane, false), std::nullopt);
  EXPECT_EQ(queues_.pick(kFirstLane, true), kFirstLane);
  queues_.begin_inside(one);
  queues_.begin(one, kFirstLane);
  EXPECT_FALSE(queues_.waits_inside());
  queues_.pass_on(one, kSecondLane);
  EXPECT_TRUE(queues_.waits_inside());
  EXPECT_EQ(queues_.pick(kFirstLane, false), kSecondLane);
  EXPECT_EQ(&queues_.take_inside(kSecondLane), &one);
  EXPECT_FALSE(queues_.waits_inside());
}

TEST_F(LaneQueuesTest, TasksInsideAreCountedUntilTheyEnd) {
  SampleTask& one = task(0, 0);
  SampleTask& other = task(0, 1);
  queues_.begin_inside(one);
  queues_.begin(one, kFirstLane);
  EXPECT_EQ(queues_.inside(), 1u);
  EXPECT_TRUE(queues_.alone(one));
  queues_.begin(other, kOtherFirstLane);
  EXPECT_EQ(queues_.inside(), 1u);
  EXPECT_FALSE(queues_.alone(one));
  EXPECT_FALSE(queues_.alone(other));
  queues_.end(one);
  EXPECT_EQ(queues_.inside(), 0u);
  EXPECT_FALSE(one.way.inside);
  EXPECT_TRUE(queues_.alone(other));
}

TEST_F(LaneQueuesTest, OneThatWaitsInsideKeepsOthersFromBeingAlone) {
  SampleTask& waits = task(0, 0);
  SampleTask& other = task(0, 1);
  queues_.begin_inside(waits);
  queues_.begin(waits, kFirstLane);
  queues_.pass_on(waits, kSecondLane);
  queues_.begin(other, kOtherFirstLane);
  EXPECT_FALSE(queues_.alone(other));
}

TEST_F(LaneQueuesTest, AWeightIsACapOnlyWhereItIsToBeOne) {
  Settings settings;
  settings[KnobId::kWorkers] = 2;
  settings.lane_weights[kFirstLane] = kWeightUnit / 2;
  SampleTask& one = task(0, 0);
  queues_.set_weights(settings, WeightUse::kShare);
  queues_.begin(one, kFirstLane);
  EXPECT_EQ(queues_.pick(kFirstLane, true), kFirstLane);
  queues_.set_weights(settings, WeightUse::kCap);
  EXPECT_EQ(queues_.pick(kFirstLane, true), std::nullopt);
  queues_.end(one);
  EXPECT_EQ(queues_.pick(kFirstLane, true), kFirstLane);
}

}  // namespace
}  // namespace drapps
