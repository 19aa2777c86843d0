#include "drapps/pipeline/starvation.h"

#include <gtest/gtest.h>

#include <vector>

#include "drapps/pipeline/batch_window.h"

namespace drapps {
namespace {

TEST(Starvation, GivesBackAllThatWereSetAsideAndHasNoneThen) {
  SampleTask one(MemoryLedger::unlimited());
  SampleTask other(MemoryLedger::unlimited());
  Starvation starvation;
  starvation.reserve(2);
  EXPECT_FALSE(starvation.any());
  starvation.set_aside(one);
  starvation.set_aside(other);
  EXPECT_TRUE(starvation.any());
  std::vector<SampleTask*> resumed;
  EXPECT_TRUE(starvation.resume([&](SampleTask& task) { resumed.push_back(&task); }));
  EXPECT_EQ(resumed, (std::vector{&one, &other}));
  EXPECT_FALSE(starvation.any());
  EXPECT_FALSE(starvation.resume([](SampleTask&) { FAIL(); }));
}

TEST(Starvation, ABatchWithoutASlotAndATaskThatIsAloneWaitForMemory) {
  Starvation starvation;
  starvation.set_no_slot(true);
  EXPECT_TRUE(starvation.any());
  starvation.set_no_slot(false);
  EXPECT_FALSE(starvation.any());
  starvation.begin_alone();
  EXPECT_TRUE(starvation.any());
  EXPECT_TRUE(starvation.alone());
  starvation.end_alone();
  EXPECT_FALSE(starvation.any());
}

TEST(Starvation, WhatIsNotTheNextToLandWaitsOn) {
  SampleTask task(MemoryLedger::unlimited());
  EXPECT_TRUE(Starvation::waits_on(task, false, false, false, 1));
  EXPECT_EQ(task.fetch.starved_ns, 0u);
}

TEST(Starvation, TheNextToLandWaitsForOtherLoadersAlone) {
  SampleTask task(MemoryLedger::unlimited());
  EXPECT_FALSE(Starvation::waits_on(task, true, false, false, 1));
  EXPECT_TRUE(Starvation::waits_on(task, true, false, true, 1));
}

TEST(Starvation, WhileTheConsumerWaitsPatienceEnds) {
  SampleTask task(MemoryLedger::unlimited());
  constexpr std::uint64_t kBegin = 5;
  EXPECT_TRUE(Starvation::waits_on(task, true, true, true, kBegin));
  EXPECT_EQ(task.fetch.starved_ns, kBegin);
  EXPECT_TRUE(Starvation::waits_on(task, true, true, true, kBegin + BatchWindow::kMemoryPatienceNs - 1));
  EXPECT_FALSE(Starvation::waits_on(task, true, true, true, kBegin + BatchWindow::kMemoryPatienceNs));
}

}  // namespace
}  // namespace drapps
