#include "drapps/exec/worker_group.h"

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <random>
#include <thread>

#include "drapps/exec/stride.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;

/// Has a fixed number of items; counts how many workers are inside at once.
class Counting : public WorkerClient {
 public:
  explicit Counting(std::int64_t items, std::chrono::microseconds each = 0us) : left_(items), each_(each) {}

  WorkFound run_one() noexcept override {
    if (left_.fetch_sub(1) <= 0) {
      left_.fetch_add(1);
      return WorkFound::kNothing;
    }
    const int inside = inside_.fetch_add(1) + 1;
    int most = most_.load();
    while (most < inside && !most_.compare_exchange_weak(most, inside)) {
    }
    if (each_ > 0us) std::this_thread::sleep_for(each_);
    inside_.fetch_sub(1);
    done_.fetch_add(1);
    done_.notify_all();
    return WorkFound::kWork;
  }

  void add(std::int64_t items) { left_.fetch_add(items); }
  std::int64_t done() const { return done_; }
  int most() const { return most_; }
  int inside() const { return inside_; }
  void wait_for(std::int64_t items) const {
    for (std::int64_t seen = done_; seen < items; seen = done_) done_.wait(seen);
  }

 private:
  std::atomic<std::int64_t> left_;
  std::chrono::microseconds each_;
  std::atomic<std::int64_t> done_{0};
  std::atomic<int> inside_{0};
  std::atomic<int> most_{0};
};

/// While it lives, the system makes no threads: their stacks have no room in the address space.
class NoThreads {
 public:
  NoThreads() {
    pthread_getattr_default_np(&before_);
    pthread_attr_t huge;
    pthread_getattr_default_np(&huge);
    pthread_attr_setstacksize(&huge, std::size_t{1} << 47);
    pthread_setattr_default_np(&huge);
    pthread_attr_destroy(&huge);
  }
  ~NoThreads() {
    pthread_setattr_default_np(&before_);
    pthread_attr_destroy(&before_);
  }
  NoThreads(const NoThreads&) = delete;
  NoThreads& operator=(const NoThreads&) = delete;

 private:
  pthread_attr_t before_{};
};

TEST(WorkerGroup, RefusesAClientWithoutThreadsAndServesTheOthersByThoseItHas) {
  WorkerGroup group;
  group.set_budget(1, CpuBudget::kUnlimited);
  Counting served(0);
  Counting refused(0);
  {
    const NoThreads none;
    const Status status = group.attach(refused, 1);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
    EXPECT_EQ(group.size(), 0);
  }
  EXPECT_TRUE(group.attach(served, 2).ok());
  {
    const NoThreads none;
    group.set_budget(8, CpuBudget::kUnlimited);
    group.set_share(served, 3);
    EXPECT_FALSE(group.attach(refused, 1).ok());
    EXPECT_EQ(group.size(), 1);
    EXPECT_NE(group.shortage().find("made no thread"), std::string::npos) << group.shortage();
    served.add(5);
    group.wake(5);
    served.wait_for(5);
  }
  EXPECT_TRUE(group.attach(refused, 2).ok());
  EXPECT_EQ(group.size(), 5) << "a client that was refused has no share";
  EXPECT_EQ(group.shortage(), "");
  group.set_budget(1, CpuBudget::kUnlimited);
  {
    const NoThreads none;
    group.set_budget(8, CpuBudget::kUnlimited);
    group.detach(refused);  // asks for the workers that are missing, in destructors of clients
    EXPECT_EQ(group.size(), 1);
  }
  group.detach(served);
}

TEST(WorkerGroup, RunsEverythingWhileItsSizeChanges) {
  WorkerGroup group;
  group.set_budget(7, CpuBudget::kUnlimited);
  Counting client(0);
  EXPECT_TRUE(group.attach(client, 1).ok());
  std::mt19937 random(1);
  std::int64_t sum = 0;
  for (int i = 0; i < 300; ++i) {
    const auto items = static_cast<std::int64_t>(random() % 20);
    sum += items;
    client.add(items);
    group.wake(static_cast<std::size_t>(items));
    if (i % 3 == 0) group.set_share(client, static_cast<std::int32_t>(random() % 9));
  }
  client.wait_for(sum);
  EXPECT_EQ(client.done(), sum);
  group.detach(client);
}

TEST(WorkerGroup, ServesAClientByNoMoreWorkersThanItsShareAndNeverMoreThanTheBudget) {
  WorkerGroup group;
  group.set_budget(3, CpuBudget::kUnlimited);
  Counting narrow(40, 500us);
  Counting wide(80, 500us);
  EXPECT_TRUE(group.attach(narrow, 1).ok());
  EXPECT_TRUE(group.attach(wide, 8).ok());
  EXPECT_EQ(group.size(), 3);
  narrow.wait_for(40);
  wide.wait_for(80);
  EXPECT_EQ(narrow.most(), 1);
  EXPECT_LE(wide.most(), 3);
  EXPECT_GE(wide.most(), 2);
  group.detach(narrow);
  group.detach(wide);
}

TEST(WorkerGroup, OneWorkerServesEveryClient) {
  WorkerGroup group;
  group.set_budget(1, CpuBudget::kUnlimited);
  Counting idle(0);
  Counting first(0);
  Counting second(0);
  for (Counting* client : {&idle, &first, &second}) EXPECT_TRUE(group.attach(*client, 1).ok());
  for (int i = 1; i <= 100; ++i) {
    (i % 2 == 0 ? first : second).add(1);
    group.wake();
    (i % 2 == 0 ? first : second).wait_for((i + 1) / 2);
  }
  group.detach(first);
  group.detach(idle);
  group.detach(second);
}

TEST(WorkerGroup, DetachLeavesNoWorkerInside) {
  WorkerGroup group;
  group.set_budget(4, CpuBudget::kUnlimited);
  for (int i = 0; i < 20; ++i) {
    Counting client(1000, 200us);
    EXPECT_TRUE(group.attach(client, 4).ok());
    client.wait_for(3);
    group.detach(client);
    EXPECT_EQ(client.inside(), 0);
  }
}

TEST(CpuBudget, PausesForWhatIsAheadOfTheClock) {
  CpuBudget budget;
  EXPECT_EQ(budget.charge(1'000'000'000, 1), 0ns);
  budget.set_cores(0.5);
  std::uint64_t now = 10'000'000'000;
  budget.charge(0, now);
  std::uint64_t used = 0;
  const std::uint64_t start = now;
  while (now < start + 10'000'000'000) {
    used += 1'000'000;
    now += 1'000'000;
    now += static_cast<std::uint64_t>(budget.charge(1'000'000, now).count());
  }
  EXPECT_NEAR(static_cast<double>(used) / 1e9, 5.0, 0.1);
}

TEST(CpuBudget, AnotherLimitForgivesWhatIsNotPaidFor) {
  CpuBudget budget;
  budget.set_cores(0.01);
  EXPECT_GT(budget.charge(1'000'000'000, 10'000'000'000), 90s);
  budget.set_cores(0.01);
  EXPECT_GT(budget.charge(0, 10'000'000'001), 90s);
  budget.set_cores(2);
  EXPECT_EQ(budget.charge(0, 10'000'000'002), 0ns);
}

TEST(CpuBudget, IsOneForAllProcesses) {
  CpuBudget budget;
  ASSERT_GE(budget.fd(), 0);
  budget.set_cores(0.5);
  const pid_t child = fork();
  if (child == 0) {
    auto attached = CpuBudget::attach(budget.fd());
    if (!attached.ok() || attached->cores() != 0.5) _exit(1);
    _exit(attached->charge(1'000'000'000, 10'000'000'000) > 1s ? 0 : 2);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_GT(budget.charge(0, 10'000'000'000), 1s);
}

TEST(CpuBudget, RefusesADescriptorOfSomethingElse) {
  EXPECT_FALSE(CpuBudget::attach(-1).ok());
  const UniqueHandle other(memfd_create("other", 0));
  EXPECT_FALSE(CpuBudget::attach(other.get()).ok());
  ASSERT_EQ(ftruncate(other.get(), 24), 0);
  EXPECT_FALSE(CpuBudget::attach(other.get()).ok());
}

TEST(StrideScheduler, SharesFollowTheWeights) {
  StrideScheduler stride;
  stride.set_weight(lane_place(LaneRole::kDecode), 12);
  stride.set_weight(lane_place(LaneRole::kAugment), 3);
  stride.set_weight(lane_place(LaneRole::kCollate), 1);
  LaneSet ready;
  ready.set(lane_place(LaneRole::kDecode));
  ready.set(lane_place(LaneRole::kAugment));
  ready.set(lane_place(LaneRole::kCollate));
  std::array<int, kLanes.size()> served{};
  for (int i = 0; i < 1600; ++i) {
    const auto lane = *stride.pick(ready);
    ++served[lane];
    stride.charge(lane, 1.0);
  }
  EXPECT_NEAR(served[lane_place(LaneRole::kDecode)], 1200, 2);
  EXPECT_NEAR(served[lane_place(LaneRole::kAugment)], 300, 2);
  EXPECT_NEAR(served[lane_place(LaneRole::kCollate)], 100, 2);
}

TEST(StrideScheduler, ALaneAtItsCapWaitsUntilAJobEnds) {
  const std::size_t decode = lane_place(LaneRole::kDecode);
  const std::size_t collate = lane_place(LaneRole::kCollate);
  StrideScheduler stride;
  stride.set_weight(decode, 15);
  stride.set_weight(collate, 1);
  stride.set_cap(decode, 2);
  LaneSet ready;
  ready.set(decode);
  for (int i = 0; i < 2; ++i) {
    ASSERT_EQ(stride.pick(ready), decode);
    stride.begin(decode);
  }
  EXPECT_EQ(stride.pick(ready), std::nullopt);
  ready.set(collate);
  stride.charge(collate, 1000);
  ASSERT_EQ(stride.pick(ready), collate);
  stride.begin(collate);
  EXPECT_EQ(stride.jobs(), 3);
  stride.end(decode);
  EXPECT_EQ(stride.pick(ready), decode);
  EXPECT_EQ(stride.jobs(), 2);
}

TEST(StrideScheduler, ALaneThatWasIdleDoesNotClaimThePast) {
  StrideScheduler stride;
  LaneSet one;
  one.set(lane_place(LaneRole::kDecode));
  for (int i = 0; i < 100; ++i) stride.charge(*stride.pick(one), 1.0);
  LaneSet both = one;
  both.set(lane_place(LaneRole::kAugment));
  int augment = 0;
  for (int i = 0; i < 20; ++i) {
    const auto lane = *stride.pick(both);
    augment += lane == lane_place(LaneRole::kAugment) ? 1 : 0;
    stride.charge(lane, 1.0);
  }
  EXPECT_NEAR(augment, 10, 1);
}

}  // namespace
}  // namespace drapps
