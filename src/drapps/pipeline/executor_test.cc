#include "drapps/pipeline/executor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "drapps/pipeline/executor_testing.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;
using executor_testing::ExecutorTest;
using executor_testing::kBatch;
using executor_testing::kMix;
using executor_testing::kSamples;
using executor_testing::picture_source;
using executor_testing::settings_of;
using executor_testing::spec_of;

TEST_F(ExecutorTest, TheStreamIsTheSameForAnyWorkersAndEitherPlan) {
  const auto source = picture_source();
  const auto expected = drain(*start(source, settings_of(1, 1, true)));
  ASSERT_EQ(expected.size(), 7u);
  for (const std::int32_t workers : {1, 2, 7}) {
    for (const bool fused : {true, false}) {
      EXPECT_EQ(drain(*start(source, settings_of(workers, 3, fused))), expected) << workers << " " << fused;
    }
  }
}

TEST_F(ExecutorTest, TheStreamIsTheSameWhileEveryKnobMoves) {
  const auto source = picture_source();
  const auto expected = drain(*start(source, settings_of(1, 1, true)));
  std::mt19937 random(5);
  for (int round = 0; round < 10; ++round) {
    auto executor = start(source, settings_of(2, 2, true));
    std::atomic<bool> done{false};
    std::jthread mover([&] {
      while (!done) {
        executor->apply(settings_of(static_cast<std::int32_t>(random() % 7 + 1),
                                    static_cast<std::int32_t>(random() % 6 + 1), random() % 2 == 0,
                                    static_cast<std::int32_t>(random() % 16 + 1)));
        std::this_thread::sleep_for(100us);
      }
    });
    EXPECT_EQ(drain(*executor), expected);
    done = true;
  }
}

/// Files that cannot be read at once, nor at all; notes which of them were asked for.
class Unreadable final : public Source {
 public:
  Unreadable() : Source(kSamples, Hint{}, {kImageName}) {}
  Location locate(std::uint64_t record, RecordPart) const noexcept override {
    asked_[record] = true;
    return {.path = "/", .bytes = {}};
  }
  std::string name(std::uint64_t, RecordPart) const override { return "/"; }
  std::int64_t asked() const { return std::count(asked_.begin(), asked_.end(), true); }

 private:
  mutable std::array<std::atomic<bool>, kSamples> asked_{};
};

TEST_F(ExecutorTest, NothingIsReadAheadOfTheBatchesUnderWay) {
  const auto source = std::make_shared<Unreadable>();
  const auto executor = start(source, settings_of(2, 2, true, 64), OnError::kSkip);
  for (std::int64_t batches = 2; batches <= 7; ++batches) {
    while (executor->ready_batches() < 2) std::this_thread::sleep_for(1ms);
    std::this_thread::sleep_for(10ms);
    EXPECT_LE(source->asked(), batches * kBatch);
    EXPECT_TRUE(std::holds_alternative<Batch>(take(*executor)));
  }
}

/// Notes the most workers that ask at once where a record lies, which takes them a while.
class Crowded final : public Source {
 public:
  explicit Crowded(std::shared_ptr<Source> of) : Source(of->size(), Hint{}, {kImageName}), of_(std::move(of)) {}
  Location locate(std::uint64_t record, RecordPart part) const noexcept override {
    const int now = ++asking_;
    for (int most = most_; most < now && !most_.compare_exchange_weak(most, now);) {
    }
    std::this_thread::sleep_for(2ms);
    --asking_;
    return of_->locate(record, part);
  }
  std::string name(std::uint64_t record, RecordPart part) const override { return of_->name(record, part); }
  int take_most() { return most_.exchange(0); }

 private:
  std::shared_ptr<Source> of_;
  mutable std::atomic<int> asking_{0};
  mutable std::atomic<int> most_{0};
};

TEST_F(ExecutorTest, ALaneHasAtMostItsPartOfTheWorkersWhereWeightsAreCaps) {
  const auto source = std::make_shared<Crowded>(picture_source());
  Settings settings = settings_of(6, 4, false);
  const auto expected = drain(*start(source, settings));
  EXPECT_GT(source->take_most(), 3);  // alone with work, a lane has all of them
  for (const auto& [decode, most] : {std::pair{1, 1}, {3, 2}, {8, 3}}) {
    settings.lane_weights = {};
    settings.lane_weights[lane_place(LaneRole::kDecode)] = decode;
    settings.lane_weights[lane_place(LaneRole::kAugment)] = 1;
    settings.lane_weights[lane_place(LaneRole::kCollate)] = 15 - decode;
    const auto executor = start(source, settings, OnError::kRaise, 0, std::nullopt, WeightUse::kCap);
    EXPECT_EQ(drain(*executor), expected);
    EXPECT_LE(source->take_most(), most) << decode;
  }
}

TEST_F(ExecutorTest, TheRestOfAnEpochIsTheSameFromAnyPosition) {
  const auto source = picture_source();
  const auto expected = drain(*start(source, settings_of(2, 2, true)));
  for (std::size_t step = 0; step <= expected.size(); ++step) {
    const std::uint64_t from = std::min<std::uint64_t>(step * kBatch, kSamples);
    const auto rest = drain(*start(source, settings_of(2, 2, true), OnError::kRaise, from));
    EXPECT_EQ(rest, (std::vector<std::string>(expected.begin() + static_cast<std::ptrdiff_t>(step), expected.end())));
  }
}

TEST_F(ExecutorTest, MixedBatchesAreTheSameForAnyWorkersAndEitherPlanAndOnResuming) {
  const auto source = picture_source();
  const auto expected = drain(*start(source, settings_of(1, 1, true), OnError::kRaise, 0, kMix));
  ASSERT_EQ(expected.size(), 7u);
  EXPECT_NE(expected, drain(*start(source, settings_of(1, 1, true))));
  for (const std::int32_t workers : {2, 7}) {
    for (const bool fused : {true, false}) {
      EXPECT_EQ(drain(*start(source, settings_of(workers, 3, fused), OnError::kRaise, 0, kMix)), expected);
    }
  }
  for (std::size_t step = 1; step < expected.size(); ++step) {
    const auto rest = drain(*start(source, settings_of(2, 2, true), OnError::kRaise, step * kBatch, kMix));
    EXPECT_EQ(rest, std::vector(expected.begin() + static_cast<std::ptrdiff_t>(step), expected.end()));
  }
}

TEST_F(ExecutorTest, TheRamBudgetHoldsAndTheStreamIsTheSame) {
  const auto source = picture_source();
  const auto expected = drain(*start(source, settings_of(2, 2, true)));
  const auto plan = Plan::make(spec_of(), *source);
  // Room for two batches and one sample at work: workers have to wait for one another's memory.
  const std::size_t tight = 2 * (*plan)->layout.bytes() + (std::size_t{192} << 10);
  const auto limit = engine_.limit({.cpus = 7, .bytes = tight});
  EXPECT_EQ(drain(*start(source, settings_of(7, 6, false))), expected);
  EXPECT_LE(engine_.memory().peak(), std::max(engine_.memory().limit(), std::size_t{64} << 20));
  EXPECT_EQ(engine_.memory().used(), 0u);
}

TEST_F(ExecutorTest, ASampleWaitsForTheMemoryOfWhatEndsAndIsRefusedWhereNothingDoes) {
  const auto source = picture_source();
  const auto plan = Plan::make(spec_of(), *source);
  constexpr std::size_t kSample = std::size_t{192} << 10;
  const auto limit = engine_.limit({.cpus = 2, .bytes = (*plan)->layout.bytes() + kSample});
  for (const bool ends : {true, false}) {
    const test_pass::MemoryOfAnother another(engine_, kSample, ends);
    const auto next = test_pass::next_of(*start(source, settings_of(1, 1, true)), 10ms);
    EXPECT_EQ(std::holds_alternative<Batch>(next), ends);
    EXPECT_TRUE(ends || std::get<Error>(next).code == ErrorCode::kResourceExhausted);
  }
}

TEST_F(ExecutorTest, WhatTheNextSamplesCostIsKnownAsFarAsTheyAre) {
  const auto source = picture_source();
  for (const bool again : {false, true}) {
    auto executor = start(source, settings_of(2, 3, true));
    const Upcoming upcoming = executor->upcoming();
    EXPECT_EQ(upcoming.samples, 2u * kBatch) << "the first and the last of three batches";
    EXPECT_EQ(upcoming.sized, upcoming.samples);
    EXPECT_GT(upcoming.bytes, upcoming.samples * 500);
    if (again) {  // all pictures have been decoded once
      EXPECT_EQ(upcoming.seen, upcoming.samples);
      EXPECT_GE(upcoming.pixels, upcoming.samples * 20 * 24);
      EXPECT_LE(upcoming.pixels, upcoming.samples * 26 * 28);
    }
    for (std::uint32_t batch = 0; batch < 6; ++batch) take(*executor);
    EXPECT_EQ(executor->upcoming().samples, kSamples - 6 * kBatch);  // the last batch
    take(*executor);
    EXPECT_EQ(executor->upcoming().samples, 0u);
  }
}

TEST_F(ExecutorTest, EndingInTheMiddleLeavesNothingBehind) {
  const auto source = picture_source();
  for (int i = 0; i < 30; ++i) {
    auto executor = start(source, settings_of(7, 4, i % 2 == 0));
    for (int k = 0; k < i % 4; ++k) take(*executor);
  }
  EXPECT_EQ(engine_.memory().used(), 0u);
}

TEST_F(ExecutorTest, TwoLiveExecutorsDoNotDisturbEachOther) {
  const auto source = picture_source();
  const auto expected = drain(*start(source, settings_of(2, 2, true)));
  auto one = start(source, settings_of(2, 2, true));
  auto two = start(source, settings_of(2, 3, false));
  std::vector<std::string> first;
  std::vector<std::string> second;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    first.push_back(content(std::get<Batch>(take(*one))));
    second.push_back(content(std::get<Batch>(take(*two))));
  }
  EXPECT_EQ(first, expected);
  EXPECT_EQ(second, expected);
}

}  // namespace
}  // namespace drapps
