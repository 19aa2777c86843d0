#include "drapps/control/consumer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

#include "drapps/base/clock.h"

namespace drapps {
namespace {

constexpr std::uint64_t kStart = 1'000;

struct Consumer {
  std::shared_ptr<ConsumerTimes> times = std::make_shared<ConsumerTimes>();
  ConsumerClock clock{times};
};

TEST(Consumer, StepsAndStallsAreOfOnePass) {
  Consumer one;
  for (std::uint64_t i = 0; i < 3; ++i) {
    one.clock.asks(kStart + 100 * i);
    one.clock.gives(kStart + 100 * i + 30);
  }
  const auto counts = one.times->counts(kStart + 1000);
  EXPECT_EQ(counts.step.count, 2u);
  EXPECT_EQ(counts.step.sum, 200u);
  EXPECT_EQ(counts.stall.count, 3u);
  EXPECT_EQ(counts.stall.sum, 90u);
  EXPECT_EQ(counts.passes, 1u);
  EXPECT_EQ(one.clock.stall_ns(), 90u);
}

TEST(Consumer, CountsTheSamplesOfWholeSteps) {
  Consumer one;
  one.clock.set_batch(32);
  one.clock.asks(kStart);
  one.clock.gives(kStart + 1);
  EXPECT_EQ(one.times->observe(kStart + 2).samples, 0u);  // its step goes on
  one.clock.asks(kStart + 100);
  one.clock.set_batch(64);
  one.clock.gives(kStart + 101);
  one.clock.asks(kStart + 200);
  EXPECT_EQ(one.times->observe(kStart + 201).samples, 96u);
}

TEST(Consumer, ABurstIsShortStepsAndOneLong) {
  Consumer one;
  std::uint64_t now = kStart;
  for (int step = 0; step < 4; ++step) {
    for (int i = 0; i < 4; ++i) {  // four batches at once, then a step of gradient accumulation
      one.clock.asks(now += 10);
      one.clock.gives(now += 1);
    }
    now += 1000;
  }
  const auto counts = one.times->counts(now);
  EXPECT_EQ(counts.stall.sum, 16u);
  EXPECT_EQ(counts.step.count, 15u);
  EXPECT_EQ(counts.step.sum, 12 * 11 + 3 * 1011u);
}

TEST(Consumer, WhatLiesBetweenPassesIsNoStep) {
  Consumer one;
  one.clock.asks(kStart);
  one.clock.gives(kStart + 10);
  one.clock.asks(kStart + 50);  // finds the end
  one.clock.ends(kStart + 51);
  EXPECT_EQ(one.times->counts(kStart + 151).between_ns, 100u) << "it counts while it lasts";
  one.clock.asks(kStart + 251);
  one.clock.gives(kStart + 260);
  one.clock.asks(kStart + 300);
  const auto counts = one.times->counts(kStart + 300);
  EXPECT_EQ(counts.between_ns, 200u);
  EXPECT_EQ(counts.step.sum, 50 + 49u);
  EXPECT_EQ(counts.passes, 2u);
  EXPECT_EQ(counts.stall.count, 2u) << "at the end no batch was waited for";
}

TEST(Consumer, OtherPassesAreUnderWayBetween) {
  Consumer one;
  ConsumerClock validation(one.times);
  one.clock.asks(kStart);
  one.clock.gives(kStart + 1);
  validation.asks(kStart + 10);
  validation.gives(kStart + 20);
  validation.ends(kStart + 30);
  EXPECT_EQ(one.times->counts(kStart + 1000).between_ns, 0u);
  one.clock.ends(kStart + 1000);
  EXPECT_EQ(one.times->counts(kStart + 1500).between_ns, 500u);
}

TEST(Consumer, WhatItWorkedItselfIsNoStall) {
  Consumer one;
  one.clock.asks(kStart);
  one.clock.gives(kStart + 100, 80);
  const auto counts = one.times->counts(kStart + 100);
  EXPECT_EQ(counts.stall.sum, 20u);
  EXPECT_EQ(counts.helped_ns, 80u);
}

TEST(Consumer, AWaitCountsWhileItLastsAndNeverGoesBack) {
  Consumer one;
  one.clock.asks(kStart);
  EXPECT_EQ(one.times->stall_ns(kStart + 70), 70u);
  one.clock.gives(kStart + 100, 90);
  EXPECT_EQ(one.times->stall_ns(kStart + 100), 70u);
  one.clock.asks(kStart + 200);
  one.clock.gives(kStart + 300);
  EXPECT_EQ(one.times->stall_ns(kStart + 300), 110u);
}

TEST(Consumer, MayBeReadWhilePassesRun) {
  const auto times = std::make_shared<ConsumerTimes>();
  std::atomic<bool> running = true;
  std::vector<std::jthread> passes;
  for (int i = 0; i < 4; ++i) {
    passes.emplace_back([&] {
      ConsumerClock clock(times);
      while (running) {
        clock.asks(monotonic_ns());
        clock.gives(monotonic_ns());
      }
    });
  }
  std::uint64_t stall = 0;
  std::uint64_t steps = 0;
  for (int i = 0; i < 2000; ++i) {
    const auto counts = times->counts(monotonic_ns());
    EXPECT_GE(counts.stall.sum, stall);
    EXPECT_GE(counts.step.count, steps);
    stall = counts.stall.sum;
    steps = counts.step.count;
  }
  running = false;
}

}  // namespace
}  // namespace drapps
