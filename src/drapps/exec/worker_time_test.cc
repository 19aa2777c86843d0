#include "drapps/exec/worker_time.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "drapps/base/clock.h"
#include "drapps/exec/worker_group.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kWorkedLane = lane_place(LaneRole::kDecode);
constexpr std::uint64_t kMillisecond = 1'000'000;

/// Finds what it is told to find; work is some of a lane.
class Telling : public WorkerClient {
 public:
  explicit Telling(WorkFound answer, std::uint64_t work_ns = 20'000) : work_ns_(work_ns), answer_(answer) {}
  WorkFound run_one() noexcept override {
    const WorkFound answer = answer_;
    asked_.fetch_add(1);
    asked_.notify_all();
    if (answer != WorkFound::kWork) return answer;
    LaneTimer timer(kWorkedLane);
    const std::uint64_t end = monotonic_ns() + work_ns_;
    while (monotonic_ns() < end) {
    }
    timer.end();
    return answer;
  }
  /// From now on; returns when some have asked since.
  void tell(WorkerGroup& group, WorkFound answer) {
    answer_ = answer;
    const std::uint64_t before = asked_;
    group.wake(64);
    while (asked_ < before + 2) {
      group.wake(64);
      std::this_thread::sleep_for(100us);
    }
  }

 private:
  const std::uint64_t work_ns_;
  std::atomic<WorkFound> answer_;
  std::atomic<std::uint64_t> asked_{0};
};

std::vector<std::uint64_t> parts_of(const WorkerTimes& times) {
  std::vector<std::uint64_t> parts(times.waited_ns.begin(), times.waited_ns.end());
  parts.insert(parts.end(), {times.paused_ns, times.other_ns, times.wall_ns, times.cpu_ns});
  for (const LaneTime& lane : times.lanes) parts.insert(parts.end(), {lane.wall_ns, lane.cpu_ns});
  return parts;
}

void expect_not_backwards(const WorkerTimes& before, const WorkerTimes& after) {
  const auto then = parts_of(before);
  const auto now = parts_of(after);
  for (std::size_t i = 0; i < then.size(); ++i) ASSERT_GE(now[i], then[i]) << i;
}

/// Reads until `grown`.
void wait_until(const WorkerGroup& group, const std::function<bool(const WorkerTimes&)>& grown) {
  WorkerTimes before = group.times();
  while (!grown(before)) {
    std::this_thread::sleep_for(1ms);
    const WorkerTimes after = group.times();
    expect_not_backwards(before, after);
    EXPECT_EQ(after.wall_ns, after.parts_ns());
    before = after;
  }
}

TEST(WorkerTimes, EveryReasonToWaitIsToldByThoseThatSleepAlready) {
  WorkerGroup group;
  group.set_budget(3, CpuBudget::kUnlimited);
  Telling client(WorkFound::kNothing);
  ASSERT_TRUE(group.attach(client, 3).ok());
  wait_until(group, [](const WorkerTimes& now) { return now.workers == 3; });
  for (const WorkFound reason : {WorkFound::kNothing, WorkFound::kStorage, WorkFound::kWindow, WorkFound::kMemory}) {
    client.tell(group, reason);
    const std::uint64_t before = group.times().waited(reason);
    wait_until(group, [&](const WorkerTimes& now) { return now.waited(reason) > before; });
    const WorkerTimes start = group.times();
    wait_until(group,
               [&](const WorkerTimes& now) { return now.waited(reason) >= start.waited(reason) + 30 * kMillisecond; });
    const WorkerTimes after = group.times();
    for (const WorkFound other : {WorkFound::kNothing, WorkFound::kStorage, WorkFound::kWindow, WorkFound::kMemory}) {
      if (other != reason) {
        EXPECT_EQ(after.waited(other), start.waited(other));
      }
    }
  }
  group.detach(client);
}

TEST(WorkerTimes, OfSeveralClientsTheMostTellingReasonCounts) {
  WorkerGroup group;
  group.set_budget(2, CpuBudget::kUnlimited);
  Telling first(WorkFound::kWindow);
  Telling second(WorkFound::kMemory);
  ASSERT_TRUE(group.attach(first, 1).ok());
  ASSERT_TRUE(group.attach(second, 2).ok());
  first.tell(group, WorkFound::kWindow);
  second.tell(group, WorkFound::kMemory);
  wait_until(group, [](const WorkerTimes& now) { return now.waited(WorkFound::kMemory) >= 20 * kMillisecond; });
  first.tell(group, WorkFound::kStorage);
  wait_until(group, [](const WorkerTimes& now) { return now.waited(WorkFound::kStorage) >= 20 * kMillisecond; });
  group.detach(first);
  group.detach(second);
}

TEST(WorkerTimes, ThePartsSumToTheTimeThatWorkersWereThere) {
  const std::uint64_t before = monotonic_ns();
  WorkerGroup group;
  group.set_budget(2, CpuBudget::kUnlimited);
  Telling client(WorkFound::kWork, 2 * kMillisecond);
  ASSERT_TRUE(group.attach(client, 2).ok());
  while (group.times().workers < 2) std::this_thread::sleep_for(1ms);
  const std::uint64_t all_there = monotonic_ns();
  bool whole = false;
  // A thread that lost its core in the middle of a change is read as it was before it: until none had.
  for (int reading = 0; reading < 100 && !whole; ++reading) {
    std::this_thread::sleep_for(300ms);
    const std::uint64_t asked = monotonic_ns();
    const WorkerTimes times = group.times();
    const std::uint64_t answered = monotonic_ns();
    EXPECT_LE(static_cast<double>(times.parts_ns()), 2 * 1.02 * static_cast<double>(answered - before));
    EXPECT_GE(times.cpu_ns, times.lanes[kWorkedLane].cpu_ns);
    whole = static_cast<double>(times.parts_ns()) >= 2 * 0.98 * static_cast<double>(asked - all_there) &&
            times.lanes[kWorkedLane].wall_ns > 0 && times.lanes[kWorkedLane].cpu_ns > 0;
  }
  EXPECT_TRUE(whole);
  group.detach(client);
}

TEST(WorkerTimes, WhatRetiredWorkersDidStaysInTheSum) {
  WorkerGroup group;
  group.set_budget(4, CpuBudget::kUnlimited);
  Telling client(WorkFound::kWork);
  WorkerTimes before;
  for (int round = 0; round < 20; ++round) {
    ASSERT_TRUE(group.attach(client, 1 + round % 4).ok());
    wait_until(group, [&](const WorkerTimes& now) {
      return now.lanes[kWorkedLane].wall_ns > before.lanes[kWorkedLane].wall_ns + kMillisecond;
    });
    group.detach(client);
    const WorkerTimes after = group.times();
    EXPECT_EQ(after.workers, 0u);
    EXPECT_EQ(after.wall_ns, after.parts_ns());
    expect_not_backwards(before, after);
    before = after;
  }
  EXPECT_EQ(parts_of(group.times()), parts_of(before));
}

TEST(WorkerTimes, NothingMovesBackwardsWhileEightWorkersWork) {
  WorkerGroup group;
  group.set_budget(8, CpuBudget::kUnlimited);
  Telling client(WorkFound::kWork);
  ASSERT_TRUE(group.attach(client, 8).ok());
  std::atomic<bool> done{false};
  std::jthread changes([&] {
    constexpr WorkFound kFound[] = {WorkFound::kStorage, WorkFound::kWork, WorkFound::kWindow, WorkFound::kWork};
    for (std::size_t i = 0; !done; ++i) {
      client.tell(group, kFound[i % 4]);
      std::this_thread::sleep_for(500us);
    }
  });
  std::vector<std::jthread> readers;
  for (int reader = 0; reader < 2; ++reader) {
    readers.emplace_back([&] {
      WorkerTimes before = group.times();
      for (int look = 0; look < 3000 && !testing::Test::HasFailure(); ++look) {
        const WorkerTimes after = group.times();
        expect_not_backwards(before, after);
        ASSERT_EQ(after.wall_ns, after.parts_ns());
        before = after;
      }
    });
  }
  readers.clear();
  done = true;
  changes.join();
  group.detach(client);
}

TEST(WorkerTimes, SleepingForTheCpuBudgetIsAPause) {
  WorkerGroup group;
  group.set_budget(1, 0.05);
  Telling client(WorkFound::kWork);
  ASSERT_TRUE(group.attach(client, 1).ok());
  wait_until(group, [](const WorkerTimes& now) { return now.paused_ns >= 50 * kMillisecond; });
  group.detach(client);
}

TEST(WorkerClock, ATimerMeasuresOnThreadsThatAreNoWorkersToo) {
  ASSERT_EQ(WorkerClock::mine(), nullptr);
  LaneTimer timer(kWorkedLane);
  const std::uint64_t end = monotonic_ns() + kMillisecond;
  while (monotonic_ns() < end) {
  }
  EXPECT_GE(timer.end().wall_ns, kMillisecond);
}

TEST(WorkerClock, WhatIsUnderWayCountsUntilItIsRead) {
  WorkerClock clock;
  const SleepReasons reasons;
  const std::uint64_t began = clock.enter_lane(kWorkedLane, 1000);
  const WorkerTimes times = *clock.read(reasons, 1500);
  EXPECT_LE(times.lanes[kWorkedLane].wall_ns, monotonic_ns() - began);
  EXPECT_EQ(times.lanes[kWorkedLane].cpu_ns, 500u);
  clock.leave_lane(700);
  EXPECT_EQ(clock.read(reasons, 1700)->lanes[kWorkedLane].cpu_ns, 700u);
  // Time awake at a read counts as waiting for storage.
  const std::uint64_t reads = clock.enter(WorkerClock::kStorage);
  clock.enter(WorkerClock::kOther);
  EXPECT_LE(clock.read(reasons, 1700)->waited(WorkFound::kStorage), monotonic_ns() - reads);
  EXPECT_GT(clock.read(reasons, 1700)->waited(WorkFound::kStorage), 0u);
}

}  // namespace
}  // namespace drapps
