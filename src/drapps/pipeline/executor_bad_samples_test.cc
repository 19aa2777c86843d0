// What an executor makes of samples that are bad: errors, other rows or none, in mixed batches, too.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "drapps/pipeline/executor.h"
#include "drapps/pipeline/executor_testing.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using executor_testing::ExecutorTest;
using executor_testing::kMix;
using executor_testing::kSamples;
using executor_testing::picture_source;
using executor_testing::settings_of;

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

TEST_F(ExecutorTest, ASkippedRowIsNotMixedIn) {
  // Rows of a mixed batch are those of the plain one, joined behind the removal of the bad ones.
  const std::vector<std::uint32_t> bad{3, 17, 40};
  const auto source = picture_source(bad);
  auto plain = start(source, settings_of(2, 2, true), OnError::kSkip);
  auto mixed = start(source, settings_of(2, 2, false), OnError::kSkip, 0, kMix);
  std::uint32_t rows = 0;
  for (;;) {
    Executor::Next expected = take(*plain);
    Executor::Next mixture = take(*mixed);
    if (std::holds_alternative<Executor::Finished>(expected)) break;
    const Batch& before = std::get<Batch>(expected);
    const Batch& after = std::get<Batch>(mixture);
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

}  // namespace
}  // namespace drapps
