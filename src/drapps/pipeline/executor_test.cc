#include "drapps/pipeline/executor.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <stdexcept>
#include <thread>

#include "drapps/modality/test_pictures.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kSamples = 53;
constexpr std::uint32_t kBatch = 8;

PipelineSpec spec_of(OnError on_error = OnError::kRaise, std::optional<Mix> mix = std::nullopt) {
  PipelineSpec spec;
  spec.parts = {testing_pictures::picture_part(
      {.ops = {RandomResizedCrop{.height = 16, .width = 12}, HorizontalFlip{}, ColorJitter{}}, .mix = mix})};
  spec.sampler = {.shuffle = true, .seed = 3, .batch = kBatch};
  spec.on_error = on_error;
  return spec;
}

/// A source whose record i is a small picture of its own; the records in `bad` are no pictures.
std::shared_ptr<Source> picture_source(std::vector<std::uint32_t> bad = {}) {
  auto bytes = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
  std::vector<MemorySource::Bytes> records;
  for (std::uint32_t i = 0; i < kSamples; ++i) bytes->push_back(testing_pictures::png(20 + i % 7, 24 + i % 5, i));
  for (const std::uint32_t i : bad) (*bytes)[i].resize(30);
  for (const auto& each : *bytes) records.emplace_back(each);
  Targets targets;
  targets.labels.push_back({"label", {}});
  for (std::int64_t i = 0; i < kSamples; ++i) targets.labels[0].values.push_back(i * 10);
  return *MemorySource::make(std::move(records), bytes, {}, std::move(targets));
}

Settings settings_of(std::int32_t workers, std::int32_t depth, bool fused, std::int32_t io = 4) {
  Settings settings;
  settings[KnobId::kWorkers] = workers;
  settings[KnobId::kIoDepth] = io;
  settings[KnobId::kPrefetchDepth] = depth;
  settings[KnobId::kFused] = fused ? 1 : 0;
  settings.lane_weights[lane_place(LaneRole::kDecode)] = 8;
  settings.lane_weights[lane_place(LaneRole::kAugment)] = 4;
  settings.lane_weights[lane_place(LaneRole::kCollate)] = 4;
  return settings;
}

class ExecutorTest : public testing::Test {
 protected:
  ExecutorTest() { limit_ = engine_.limit({.cpus = 7, .bytes = std::size_t{64} << 20}); }

  std::unique_ptr<Executor> start(const std::shared_ptr<Source>& source, const Settings& settings,
                                  OnError on_error = OnError::kRaise, std::uint64_t from = 0,
                                  std::optional<Mix> mix = std::nullopt, WeightUse weights = WeightUse::kShare) {
    PipelineSpec spec = spec_of(on_error, mix);
    auto plan = Plan::make(std::move(spec), *source);
    EXPECT_TRUE(plan.ok()) << plan.error().message;
    auto sampler = Sampler::make((*plan)->spec.sampler, 0, from);
    EXPECT_TRUE(sampler.ok());
    auto executor =
        Executor::make({.plan = *plan,
                        .source = source,
                        .sampler = *sampler,
                        .settings = settings,
                        .engine = engine_,
                        .arena = *SlotArena::make((*plan)->layout.bytes(), engine_.memory(MemoryUse::kBatches)),
                        .weights = weights});
    EXPECT_TRUE(executor.ok());
    return *std::move(executor);
  }

  static Executor::Next take(Executor& executor) {
    for (int patience = 0; patience < 12; ++patience) {
      if (auto next = executor.next(5000ms)) return *std::move(next);
    }
    ADD_FAILURE() << "no batch within a minute";
    return Executor::Finished{};
  }

  /// A digest of everything in a batch but padding between columns; short, so that a failure is readable.
  static std::string content(const Batch& batch) {
    std::string all;
    for (const Column& column : batch.plan->layout.columns()) {
      all.append(reinterpret_cast<const char*>(batch.slot.data() + column.offset), column.row_bytes * batch.rows);
    }
    return std::to_string(batch.rows) + " rows " + std::to_string(std::hash<std::string>{}(all));
  }

  static std::vector<std::string> drain(Executor& executor) {
    std::vector<std::string> batches;
    for (;;) {
      Executor::Next next = take(executor);
      if (std::holds_alternative<Executor::Finished>(next)) return batches;
      if (const auto* error = std::get_if<Error>(&next)) {
        batches.push_back("error " + error->path +
                          (error->code == ErrorCode::kResourceExhausted ? ": " + error->message : ""));
      } else {
        batches.push_back(content(std::get<Batch>(next)));
      }
    }
  }

  Engine engine_;
  std::unique_ptr<Engine::Limit> limit_;
};

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

TEST_F(ExecutorTest, ABadSampleRaisesOnceAndTheNextBatchGoesOn) {
  const auto good = drain(*start(picture_source(), settings_of(2, 2, true)));
  auto executor = start(picture_source({17}), settings_of(2, 2, true));
  const auto batches = drain(*executor);
  ASSERT_EQ(batches.size(), good.size());
  int errors = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    if (batches[i] == "error memory[17]") {
      ++errors;
    } else {
      EXPECT_EQ(batches[i], good[i]);
    }
  }
  EXPECT_EQ(errors, 1);
  ASSERT_EQ(executor->bad_samples().size(), 1u);
  EXPECT_EQ(executor->bad_samples()[0].index, 17);
  EXPECT_EQ(executor->bad_samples()[0].stage, Stage::kDecode);
}

TEST_F(ExecutorTest, SkippingDropsTheRowAndShiftsNothing) {
  const auto good = picture_source();
  for (const bool fused : {true, false}) {
    auto executor = start(picture_source({3, 17, 40}), settings_of(2, 2, fused), OnError::kSkip);
    auto reference = start(good, settings_of(2, 2, fused), OnError::kSkip);
    std::uint32_t rows = 0;
    for (;;) {
      Executor::Next next = take(*executor);
      Executor::Next whole = take(*reference);
      if (std::holds_alternative<Executor::Finished>(next)) break;
      const Batch& batch = std::get<Batch>(next);
      const Batch& full = std::get<Batch>(whole);
      EXPECT_EQ(batch.position, full.position);
      rows += batch.rows;
      // Each row that is left is the full batch's row of the same position.
      const auto& layout = batch.plan->layout;
      const std::size_t image = layout.find("image");
      const std::size_t positions = layout.find("position");
      std::uint32_t at = 0;
      for (std::uint32_t row = 0; row < batch.rows; ++row, ++at) {
        const auto* position = reinterpret_cast<const std::int64_t*>(layout.row(batch.slot.data(), positions, row));
        while (*reinterpret_cast<const std::int64_t*>(layout.row(full.slot.data(), positions, at)) != *position) ++at;
        EXPECT_EQ(std::memcmp(layout.row(batch.slot.data(), image, row), layout.row(full.slot.data(), image, at),
                              layout.columns()[image].row_bytes),
                  0);
      }
    }
    EXPECT_EQ(rows, kSamples - 3);
  }
}

TEST_F(ExecutorTest, ReplacingFillsTheRowFromAnotherSampleTheSameEachTime) {
  const auto source = picture_source({0, 9, 18, 27});
  const auto first = drain(*start(source, settings_of(1, 1, true), OnError::kReplace));
  const auto second = drain(*start(source, settings_of(7, 4, false), OnError::kReplace));
  EXPECT_EQ(first, second);
  auto executor = start(source, settings_of(2, 2, true), OnError::kReplace);
  std::uint32_t replaced = 0;
  std::uint32_t rows = 0;
  for (;;) {
    Executor::Next next = take(*executor);
    if (std::holds_alternative<Executor::Finished>(next)) break;
    const Batch& batch = std::get<Batch>(next);
    rows += batch.rows;
    for (std::uint32_t row = 0; row < batch.rows; ++row) {
      const std::byte flags = *batch.plan->layout.row(batch.slot.data(), batch.plan->layout.find("flags"), row);
      replaced += flags == std::byte{kFlagReplaced} ? 1 : 0;
    }
  }
  EXPECT_EQ(rows, kSamples);
  EXPECT_EQ(replaced, 4u);
  EXPECT_EQ(executor->bad_samples().size(), 4u);
}

constexpr Mix kMix{.mixup_alpha = 0.4, .cutmix_alpha = 1, .num_classes = 10 * kSamples};

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

TEST_F(ExecutorTest, ASkippedRowIsNotMixedIn) {
  // Rows of a mixed batch are those of the plain one, joined behind the removal of the bad ones.
  const std::vector<std::uint32_t> bad{3, 17, 40};
  const auto source = picture_source(bad);
  auto plain = start(source, settings_of(2, 2, true), OnError::kSkip);
  auto mixed = start(source, settings_of(2, 2, false), OnError::kSkip, 0, kMix);
  std::uint32_t rows = 0;
  for (;;) {
    Executor::Next expected = take(*plain);
    Executor::Next found = take(*mixed);
    if (std::holds_alternative<Executor::Finished>(expected)) break;
    const Batch& before = std::get<Batch>(expected);
    const Batch& after = std::get<Batch>(found);
    ASSERT_EQ(before.rows, after.rows);
    rows += after.rows;
    const std::size_t label = after.plan->layout.find("label");
    for (std::uint32_t row = 0; row < after.rows; ++row) {
      const auto label_of = [&](std::uint32_t k) {
        return *reinterpret_cast<const std::int64_t*>(before.plan->layout.row(before.slot.data(), label, k));
      };
      const auto* shares = reinterpret_cast<const float*>(after.plan->layout.row(after.slot.data(), label, row));
      const float own = shares[label_of(row)];
      const float other = shares[label_of((row + after.rows - 1) % after.rows)];
      EXPECT_NEAR(own + other, 1.0F, 1e-6F);
      for (std::int32_t k = 0; k < kMix.num_classes; ++k) {
        if (shares[k] != 0) {
          EXPECT_TRUE(shares[k] == own || shares[k] == other);
        }
      }
    }
  }
  EXPECT_EQ(rows, kSamples - bad.size());
}

TEST_F(ExecutorTest, ABatchWhoseRowsWereAllSkippedIsEmptyAlsoWhereItIsMixed) {
  std::vector<std::uint32_t> all(kSamples);
  for (std::uint32_t i = 0; i < kSamples; ++i) all[i] = i;
  auto executor = start(picture_source(all), settings_of(2, 2, true), OnError::kSkip, 0, kMix);
  for (int step = 0; step < 7; ++step) EXPECT_EQ(std::get<Batch>(take(*executor)).rows, 0u);
  EXPECT_TRUE(std::holds_alternative<Executor::Finished>(take(*executor)));
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

/// Empty records, whose names nobody can tell.
class Nameless final : public Source {
 public:
  Nameless() : Source(kSamples, Hint{}, {kImageName}) {}
  Location locate(std::uint64_t, RecordPart) const noexcept override { return {}; }
  std::string name(std::uint64_t, RecordPart) const override { throw std::runtime_error("no name"); }
};

TEST_F(ExecutorTest, AnExceptionIsAnErrorOfItsOwnUnderEveryOnError) {
  for (const OnError on_error : {OnError::kRaise, OnError::kReplace, OnError::kSkip}) {
    for (const bool fused : {true, false}) {
      auto executor = start(std::make_shared<Nameless>(), settings_of(3, 2, fused), on_error);
      for (int batch = 0; batch < 7; ++batch) {
        const auto next = take(*executor);
        ASSERT_TRUE(std::holds_alternative<Error>(next));
        EXPECT_EQ(std::get<Error>(next).code, ErrorCode::kInternal);
        EXPECT_EQ(std::get<Error>(next).message, "no name");
      }
      EXPECT_TRUE(std::holds_alternative<Executor::Finished>(take(*executor)));
    }
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
