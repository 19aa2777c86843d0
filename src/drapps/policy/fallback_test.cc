#include "drapps/policy/fallback.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

constexpr std::uint64_t kHalfSecond = 500'000'000;

/// A machine whose pace follows from its workers, and a network that moves them as it is told to.
class FallbackTest : public testing::Test {
 protected:
  FallbackTest() { settings_[KnobId::kWorkers] = 4; }

  /// One decision: what the fallback says, or a notch as the network has it.
  bool decide(int notch) {
    now_.time_ns += between_;
    const double seconds = 1e-9 * static_cast<double>(between_);
    now_.samples += static_cast<std::uint64_t>(pace_(settings_[KnobId::kWorkers]) * seconds);
    now_.settings = settings_;
    const auto safe = fall_back(now_, limits_, knobs_, memory_);
    EXPECT_TRUE(is_fallback_memory(memory_));
    const KnobRange range = range_of(KnobId::kWorkers, limits_);
    std::int32_t& workers = settings_[KnobId::kWorkers];
    if (safe) {
      workers = (*safe)[KnobId::kWorkers];
    } else if (notch != 0) {
      workers = notch > 0 ? range.up(workers) : range.down(workers);
    }
    return !safe.has_value();
  }
  /// The network's decisions among so many, all of one kind.
  int decide_often(int times, int notch) {
    int own = 0;
    for (int i = 0; i < times; ++i) own += decide(notch) ? 1 : 0;
    return own;
  }
  std::int32_t workers() const { return settings_[KnobId::kWorkers]; }

  Limits limits_ = native_limits(16, 1, 1);
  std::vector<KnobId> knobs_{KnobId::kWorkers};
  std::function<double(std::int32_t)> pace_ = [](std::int32_t) { return 1000.0; };
  std::uint64_t between_ = kHalfSecond;
  Observation now_{.time_ns = 1'000'000'000};
  Settings settings_;
  FallbackMemory memory_{};
};

TEST_F(FallbackTest, TheSettingsOfTheStartAreMeasuredBeforeTheNetworkMovesAny) {
  EXPECT_FALSE(decide(1));
  EXPECT_FALSE(decide(1));
  EXPECT_TRUE(decide(1));
  EXPECT_DOUBLE_EQ(memory_.safe_pace, 1000);
  EXPECT_EQ(memory_.safe[KnobId::kWorkers], 4);
}

TEST_F(FallbackTest, WhereDecisionsAreFarApartOneIntervalIsEnough) {
  between_ = 4 * kHalfSecond;
  EXPECT_FALSE(decide(1));
  EXPECT_TRUE(decide(1));
  EXPECT_DOUBLE_EQ(memory_.safe_pace, 1000);
}

TEST_F(FallbackTest, MovesThatCostNothingAreTheNetworks) {
  EXPECT_EQ(decide_often(40, 1), 38);
  EXPECT_EQ(workers(), 16);
  EXPECT_EQ(memory_.safe[KnobId::kWorkers], 16);  // they have stood, and are no slower
}

TEST_F(FallbackTest, SlowerSettingsAreLeftAndTheNetworkWaitsLongerEachTime) {
  pace_ = [](std::int32_t workers) { return workers > 4 ? 800.0 : 1000.0; };
  std::vector<int> stays;
  int slower = 0;
  bool own = false;
  for (int i = 0; i < 700; ++i) {
    const bool before = own;
    own = decide(1);
    if (own && !before) stays.push_back(0);
    if (!own && !stays.empty()) ++stays.back();
    slower += workers() > 4 ? 1 : 0;
  }
  ASSERT_GE(stays.size(), 4U);
  EXPECT_GE(stays[1], 3 * stays[0]);
  EXPECT_GE(stays[2], 3 * stays[1]);
  EXPECT_LE(stays[0], 24);
  EXPECT_LE(slower, 5 * static_cast<int>(stays.size()));  // patience, and the way there
}

TEST_F(FallbackTest, FasterSettingsThatStoodAreTheSafeOnes) {
  pace_ = [](std::int32_t workers) { return workers > 12 ? 1000.0 : 100.0 * workers; };
  decide_often(3, 0);
  while (workers() < 12) ASSERT_TRUE(decide(1));
  decide_often(8, 0);
  EXPECT_EQ(memory_.safe[KnobId::kWorkers], 12);
  decide_often(2, 1);
  decide_often(8, 0);
  EXPECT_EQ(workers(), 12);
}

TEST_F(FallbackTest, WhereThePaceDoesNotComeBackTheNetworkGoesOn) {
  decide_often(3, 0);
  decide(1);
  pace_ = [](std::int32_t) { return 500.0; };  // as the knob moves
  int waited = 0;
  for (int i = 0; i < 20 && memory_.safe_pace > 600; ++i) waited += decide(1) ? 0 : 1;
  EXPECT_NEAR(memory_.safe_pace, 500, 1);
  EXPECT_LE(waited, 6);
  EXPECT_EQ(memory_.defeats, 0);
  EXPECT_EQ(decide_often(10, 1), 10);
}

TEST_F(FallbackTest, APaceThatChangesWhileNothingMovesIsMeasuredAnew) {
  pace_ = [](std::int32_t workers) { return workers > 4 ? 800.0 : 1000.0; };
  decide_often(60, 1);
  ASSERT_GT(memory_.defeats, 0);
  while (memory_.phase != FallbackPhase::kStays) decide(1);
  decide_often(4, 1);
  pace_ = [](std::int32_t workers) { return workers > 4 ? 400.0 : 300.0; };
  int waited = 0;
  while (!decide(1)) ++waited;
  EXPECT_LE(waited, 10);
  EXPECT_EQ(memory_.defeats, 0);
  decide_often(40, 1);
  EXPECT_EQ(workers(), 16);
}

TEST_F(FallbackTest, PausesBetweenPassesAreNoTime) {
  decide_often(4, 0);
  for (int i = 0; i < 20; ++i) {
    now_.time_ns += 20 * kHalfSecond;
    now_.consumer.between_ns += 20 * kHalfSecond;
    EXPECT_TRUE(decide(0));
  }
  EXPECT_DOUBLE_EQ(memory_.safe_pace, 1000);
}

TEST_F(FallbackTest, SafeSettingsThatCannotBeReachedAreGivenUp) {
  pace_ = [](std::int32_t workers) { return workers > 4 ? 800.0 : 1000.0; };
  decide_often(3, 0);
  decide_often(8, 1);
  while (memory_.phase != FallbackPhase::kReturns) decide(1);
  int waited = 0;
  do {
    ++waited;
    settings_[KnobId::kWorkers] = 16;  // which something else holds
  } while (waited < 200 && !decide(0));
  EXPECT_LT(waited, 80);
  EXPECT_EQ(memory_.safe[KnobId::kWorkers], 16);
}

TEST_F(FallbackTest, AMemoryThatCannotBeIsKnown) {
  EXPECT_TRUE(is_fallback_memory({}));
  EXPECT_FALSE(is_fallback_memory({.phase = static_cast<FallbackPhase>(9)}));
  EXPECT_FALSE(is_fallback_memory({.phase = FallbackPhase::kStays}));
  EXPECT_FALSE(is_fallback_memory({.defeats = 200}));
  EXPECT_FALSE(is_fallback_memory({.pace = std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_FALSE(is_fallback_memory({.safe_pace = -1}));
}

}  // namespace
}  // namespace drapps
