#include "drapps/worker/process_times.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "drapps/base/clock.h"
#include "drapps/worker/testing.h"

namespace drapps {
namespace {

using namespace worker_testing;
using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds kNoWaiting{0};

class ProcessTimesTest : public ::testing::Test {
 protected:
  std::unique_ptr<Board> board_ = make_board(3, 4);
  ProcessEntry& entry(std::uint32_t number) { return board_->memory()->process(number); }
  ProcessTimes times(std::uint32_t number = 0) const { return board_->status(number).times; }
};

void expect_later(const ProcessTimes& before, const ProcessTimes& after) {
  for (std::size_t i = 0; i < kActivities; ++i) ASSERT_GE(after.activity_ns[i], before.activity_ns[i]) << i;
  ASSERT_GE(after.python_cpu_ns, before.python_cpu_ns);
}

TEST_F(ProcessTimesTest, ActivitiesSumToTheTimeSinceTheProcessAttached) {
  EXPECT_EQ(times().wall_ns(), 0u);
  const std::uint64_t before = monotonic_ns();
  auto client = attached(*board_);
  const std::uint64_t after = monotonic_ns();
  std::this_thread::sleep_for(20ms);
  publish(*board_, 1, {.pieces = 2});
  const Work given = *client->next(kNoWaiting, false);
  std::this_thread::sleep_for(20ms);
  ASSERT_TRUE(client->begin(given.ticket, 0));
  const std::uint64_t until = thread_cpu_ns() + 20'000'000;
  while (thread_cpu_ns() < until) {
  }
  const std::uint64_t asked = monotonic_ns();
  const ProcessTimes under_way = times();
  const std::uint64_t arrival = monotonic_ns();
  EXPECT_GE(under_way.wall_ns(), asked - after);
  EXPECT_LE(under_way.wall_ns(), arrival - before);
  EXPECT_GE(under_way[Activity::kStarting], 20'000'000u);
  EXPECT_GE(under_way[Activity::kIdle], 20'000'000u);
  EXPECT_GE(under_way[Activity::kSample], 20'000'000u);
  ASSERT_TRUE(client->finish(given.ticket, 0));
  client->enter(Activity::kCollate);
  std::this_thread::sleep_for(20ms);
  client->enter(Activity::kIdle);
  const ProcessTimes ended = times();
  expect_later(under_way, ended);
  EXPECT_GE(ended[Activity::kCollate], 20'000'000u);
  EXPECT_GE(ended.python_cpu_ns, 20'000'000u);
  // Asleep in the collation: no CPU time of it.
  EXPECT_LE(ended.python_cpu_ns + 15'000'000, ended.python_ns());
}

TEST_F(ProcessTimesTest, NothingMovesBackwardsWhileProcessesWork) {
  const auto child = [&] { return Child(*board_, [](BoardClient& client) { work(client); }); };
  const Child one = child();
  const Child two = child();
  ProcessTimes before[2];
  std::uint64_t tasks = 0;
  for (std::uint64_t ticket = 0; ticket < 300; ++ticket) {
    const std::uint64_t published = publish(*board_, ticket, {.pieces = 3});
    while (!board_->wait(published, 1ms)) {
    }
    take_and_check(*board_, published, ticket, 3);
    for (std::uint32_t number = 0; number < 2; ++number) {
      const ProcessTimes after = times(number);
      expect_later(before[number], after);
      before[number] = after;
    }
    ++tasks;
  }
  const PythonLane& lane = board_->python_lane();
  EXPECT_EQ(lane.queue_length.counts().count, tasks);
  EXPECT_EQ(lane.wait.counts().count, tasks);
  EXPECT_EQ(lane.service_wall.counts().count, 3 * tasks);  // pieces
  board_->stop();
  EXPECT_EQ(one.wait(), 0);
  EXPECT_EQ(two.wait(), 0);
}

TEST_F(ProcessTimesTest, WhatWasKnownOfADeadProcessStays) {
  const Child child(*board_, [](BoardClient& client) { work(client); });
  while (times()[Activity::kIdle] < 10'000'000) std::this_thread::sleep_for(1ms);
  const ProcessTimes before = times();
  child.kill_and_reap(*board_);
  const ProcessTimes after = times();
  expect_later(before, after);
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(times().wall_ns(), after.wall_ns());
  EXPECT_EQ(*board_->enlist(), 0u);
  EXPECT_EQ(times().wall_ns(), 0u);  // another process
}

TEST_F(ProcessTimesTest, AProcessThatDiedInTheMiddleOfAChangeIsReadAsItWas) {
  auto client = attached(*board_);
  client->enter(Activity::kIdle);
  const ProcessTimes before = times();
  entry(0).sequence.fetch_add(1);
  entry(0).since_ns.fetch_add(1'000'000'000);
  EXPECT_EQ(times().activity_ns, before.activity_ns);
}

TEST_F(ProcessTimesTest, WordsThatContradictEachOtherAreNotBelieved) {
  auto client = attached(*board_);
  client->enter(Activity::kIdle);
  const std::uint64_t attached_ns = entry(0).attached_ns;
  const ProcessTimes before = times();
  for (std::atomic<std::uint64_t>* word : {&entry(0).attached_ns, &entry(0).since_ns, &entry(0).sequence,
                                           &entry(0).ended_ns[1], &entry(0).python_cpu_ns}) {
    const std::uint64_t was = word->exchange(~std::uint64_t{0} / 3);
    EXPECT_EQ(times().activity_ns, before.activity_ns);
    EXPECT_EQ(times().python_cpu_ns, before.python_cpu_ns);
    *word = was;
  }
  entry(0).activity = static_cast<Activity>(77);
  EXPECT_EQ(times().activity_ns, before.activity_ns);
  entry(0).ended_ns[2] = 1u << 30;
  // What the process writes next is what it knows itself.
  client->enter(Activity::kSample);
  client->enter(Activity::kIdle);
  entry(0).ended_ns[2] = 0;
  client->enter(Activity::kSample);
  client->enter(Activity::kIdle);
  const ProcessTimes after = times();
  expect_later(before, after);
  EXPECT_LE(after.wall_ns(), monotonic_ns() - attached_ns);
}

TEST_F(ProcessTimesTest, ATaskWaitsFromPublishToItsClaim) {
  auto client = attached(*board_);
  const std::uint64_t first = publish(*board_, 1, {});
  const std::uint64_t second = publish(*board_, 2, {});
  std::this_thread::sleep_for(20ms);
  for (const std::uint64_t ticket : {first, second}) {
    ASSERT_EQ(client->next(kNoWaiting, false)->ticket, ticket);
    std::this_thread::sleep_for(10ms);
    ASSERT_TRUE(client->deliver(ticket, 0, {}).ok());
    ASSERT_TRUE(board_->take(ticket).ok());
  }
  const HistogramCounts queue = board_->python_lane().queue_length.counts();
  EXPECT_EQ(queue.count, 2u);
  EXPECT_EQ(queue.sum, 1u);  // none, then one
  EXPECT_GE(board_->python_lane().wait.counts().sum, 2 * 20'000'000u + 10'000'000);
  EXPECT_GE(board_->python_lane().service_wall.counts().sum, 2 * 10'000'000u);
}

TEST_F(ProcessTimesTest, AClaimThatCannotBeTrueIsNotCounted) {
  auto client = attached(*board_);
  for (const std::uint64_t wrong : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}}) {
    const std::uint64_t ticket = publish(*board_, 1, {});
    ASSERT_EQ(client->next(kNoWaiting, false)->ticket, ticket);
    ASSERT_TRUE(client->deliver(ticket, 0, {}).ok());
    board_->memory()->task(ticket).claimed_ns = wrong;
    board_->memory()->task(ticket).worked_ns = ~std::uint64_t{0} / 3;
    ASSERT_TRUE(board_->take(ticket).ok());
  }
  EXPECT_EQ(board_->python_lane().wait.counts().count, 0u);
  EXPECT_EQ(board_->python_lane().service_wall.counts().count, 0u);
}

}  // namespace
}  // namespace drapps
