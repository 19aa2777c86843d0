#include "drapps/plant/knob_range.h"

#include <gtest/gtest.h>

#include <vector>

namespace drapps {
namespace {

std::vector<std::int32_t> climb(const KnobRange& range) {
  std::vector<std::int32_t> values{range.low()};
  while (range.up(values.back()) != values.back()) values.push_back(range.up(values.back()));
  return values;
}

TEST(KnobRange, EndsAtTheBudgetEvenOffTheGrid) {
  const KnobRange range = range_of(KnobId::kWorkers, native_limits(10));
  EXPECT_EQ(climb(range), (std::vector<std::int32_t>{1, 2, 3, 4, 6, 8, 10}));
  EXPECT_EQ(range.fit(1000), 10);
  EXPECT_EQ(range.fit(9), 8);
  EXPECT_EQ(range.fit(-3), 1);
}

TEST(KnobRange, DownIsUpReversed) {
  for (std::int32_t budget = -1; budget < 1000; ++budget) {
    const KnobRange range = range_of(KnobId::kWorkers, native_limits(budget));
    auto values = climb(range);
    EXPECT_EQ(values.back(), std::max(1, budget));
    for (; values.size() > 1; values.pop_back()) ASSERT_EQ(range.down(values.back()), values[values.size() - 2]);
    EXPECT_EQ(range.down(1), 1);
  }
}

TEST(KnobRange, FusedIsPinnedWhereThePlanCannotSplit) {
  EXPECT_EQ(climb(range_of(KnobId::kFused, native_limits(1))), (std::vector<std::int32_t>{1}));
  EXPECT_EQ(range_of(KnobId::kFused, native_limits(1)).fit(0), 1);
  EXPECT_EQ(climb(range_of(KnobId::kFused, native_limits(1, 1, 1, true))), (std::vector<std::int32_t>{0, 1}));
}

TEST(KnobRange, AKnobThatThePlantDoesNotHaveIsZero) {
  for (const Knob& knob : knob_table()) {
    const KnobRange range(knob, {});
    EXPECT_EQ(climb(range), (std::vector<std::int32_t>{0}));
    EXPECT_EQ(range.fit(7), 0);
    EXPECT_EQ(range.fit(-7), 0);
    EXPECT_EQ(range.down(0), 0);
  }
}

TEST(KnobRange, AKnobOfAnyStepTakesEveryValueBetween) {
  Limits limits;
  limits[KnobId::kProcesses] = {1, 200};
  const KnobRange range = range_of(KnobId::kProcesses, limits);
  EXPECT_EQ(range.fit(107), 107);
  EXPECT_EQ(range.fit(500), 200);
  EXPECT_EQ(range.fit(0), 1);
}

TEST(Weights, EvenSharesFit) {
  for (unsigned long lanes = 0; lanes < 256; ++lanes) {
    const LaneSet weighted(lanes);
    EXPECT_TRUE(weights_fit(even_weights(weighted), weighted));
  }
}

TEST(Weights, MissingSurplusAndForeignSharesDoNotFit) {
  const LaneSet weighted(0b0111);
  EXPECT_TRUE(weights_fit({1, 14, 1}, weighted));
  EXPECT_FALSE(weights_fit({0, 15, 1}, weighted));
  EXPECT_FALSE(weights_fit({1, 15, 1}, weighted));
  EXPECT_FALSE(weights_fit({1, 13, 1, 1}, weighted));
}

}  // namespace
}  // namespace drapps
