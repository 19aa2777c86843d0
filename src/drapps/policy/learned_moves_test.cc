#include "drapps/policy/learned_moves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "drapps/plant/knob_range.h"
#include "drapps/rl/random.h"

namespace drapps {
namespace {

using testing::ElementsAre;

TEST(LearnedMoves, SeveralNotchesAtOnceEndAtTheLimits) {
  const std::array knobs{named_knob(KnobId::kProcesses, KnobMove::kNotches)};
  const LearnedMoves moves = *LearnedMoves::of(knobs, {});
  ASSERT_EQ(moves.heads().outputs(), LearnedMoves::kAllChoices);
  Limits limits;
  limits[KnobId::kProcesses] = {1, 33};
  const auto moved = [&](std::int32_t from, LearnedMoves::Choice choice) {
    Settings settings;
    settings[KnobId::kProcesses] = from;
    const auto action = static_cast<float>(choice);
    return moves.moved(settings, limits, &action)[KnobId::kProcesses];
  };
  const auto allowed = [&](std::int32_t at) {
    Settings settings;
    settings[KnobId::kProcesses] = at;
    std::array<std::uint8_t, LearnedMoves::kAllChoices> mask{};
    moves.mask(settings, limits, {}, mask.data());
    return mask;
  };
  EXPECT_EQ(moved(4, LearnedMoves::kStay), 4);
  EXPECT_EQ(moved(4, LearnedMoves::kUp), 6);
  EXPECT_EQ(moved(4, LearnedMoves::kDown), 3);
  EXPECT_EQ(moved(4, LearnedMoves::kFarUp), 16);
  EXPECT_EQ(moved(16, LearnedMoves::kFarUp), 33);
  EXPECT_EQ(moved(16, LearnedMoves::kFarDown), 4);
  EXPECT_EQ(moved(3, LearnedMoves::kFarDown), 1);
  EXPECT_THAT(allowed(8), ElementsAre(1, 1, 1, 1, 1));
  EXPECT_THAT(allowed(33), ElementsAre(1, 1, 0, 1, 0));
  EXPECT_THAT(allowed(32), ElementsAre(1, 1, 1, 1, 0));  // one notch is all that is left
  EXPECT_THAT(allowed(2), ElementsAre(1, 1, 1, 0, 1));
  EXPECT_THAT(allowed(1), ElementsAre(1, 0, 1, 0, 1));
}

TEST(LearnedMoves, SixteenthsGoFromLaneToLaneAndNoLaneLosesItsLast) {
  const std::vector<std::string> lanes{"decode", "augment", "collate"};
  const auto moves = LearnedMoves::of({}, lanes);
  ASSERT_TRUE(moves.ok());
  EXPECT_EQ(moves->heads().outputs(), 7U);
  Limits limits = native_limits(8, 1, 1, true);
  const std::size_t decode = lane_place(LaneRole::kDecode);
  const std::size_t augment = lane_place(LaneRole::kAugment);
  const std::size_t collate = lane_place(LaneRole::kCollate);
  limits.weighted[decode] = limits.weighted[augment] = true;
  Settings settings;
  settings.lane_weights[decode] = 15;
  settings.lane_weights[augment] = 1;
  std::array<std::uint8_t, 7> mask{};
  moves->mask(settings, limits, {}, mask.data());
  // None, decode to augment, decode to collate, augment to decode, …
  EXPECT_THAT(mask, ElementsAre(1, 1, 0, 0, 0, 0, 0));
  const float action = 1;
  const Settings next = moves->moved(settings, limits, &action);
  EXPECT_EQ(next.lane_weights[decode], 14);
  EXPECT_EQ(next.lane_weights[augment], 2);
  EXPECT_EQ(next.lane_weights[collate], 0);
  settings[KnobId::kFused] = 1;
  moves->mask(settings, limits, {}, mask.data());
  EXPECT_THAT(mask, ElementsAre(1, 0, 0, 0, 0, 0, 0));
  for (const float none : {0.0F, 99.0F, -5.0F, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_EQ(moves->moved(settings, limits, &none), settings);
  }
}

TEST(LearnedMoves, ASaidShareIsThatShareOfTheWayAndTheEndsAreEnds) {
  const std::array knobs{named_knob(KnobId::kDecodeOnGpu, KnobMove::kShare),
                         named_knob(KnobId::kAugmentOnGpu, KnobMove::kEnds)};
  const LearnedMoves moves = *LearnedMoves::of(knobs, {});
  Limits limits = native_limits(8, 64, 16, true);
  limits[KnobId::kDecodeOnGpu] = limits[KnobId::kAugmentOnGpu] = {0, 16};
  const Settings settings{};
  const std::array<float, 2> action{0.75F, 1};
  const Settings next = moves.moved(settings, limits, action.data());
  EXPECT_EQ(next[KnobId::kDecodeOnGpu], 12);
  EXPECT_EQ(next[KnobId::kAugmentOnGpu], 16);
  EXPECT_EQ(LearnedMoves::of(std::array{named_knob(KnobId::kForm)}, {}).ok(), false);
}

TEST(LearnedMoves, SharesOfLanesAreSixteenthsOfWhichEachHasOne) {
  const std::array<std::string, 4> lanes{"decode", "augment", "tokenise", "transfer"};
  const LearnedMoves moves = *LearnedMoves::of({}, lanes, /*whole=*/true);
  Limits limits = native_limits(8, 64, 16, true);
  limits.weighted = {};
  for (const LaneRole role : {LaneRole::kDecode, LaneRole::kAugment, LaneRole::kCollate}) {
    limits.weighted[lane_place(role)] = true;
  }
  Settings settings = fit_settings({.knobs = {4, 8, 4, 1}}, limits);
  rl::Random random(4);
  for (int i = 0; i < 200; ++i) {
    std::array<float, 4> shares{};
    const std::array<float, 4> level{};
    const std::array<std::uint8_t, 4> mask{1, 1, 1, 1};
    moves.heads().sample(level.data(), mask.data(), random, shares.data());
    const Settings next = moves.moved(settings, limits, shares.data());
    EXPECT_TRUE(weights_fit(next.lane_weights, limits.weighted));
    EXPECT_EQ(next[KnobId::kFused], range_of(KnobId::kFused, limits).low());
    const std::size_t decode = lane_place(LaneRole::kDecode), augment = lane_place(LaneRole::kAugment);
    EXPECT_EQ(next.lane_weights[lane_place(LaneRole::kCollate)], settings.lane_weights[lane_place(LaneRole::kCollate)]);
    EXPECT_TRUE(shares[0] <= shares[1] || next.lane_weights[decode] >= next.lane_weights[augment]);
    settings = next;
  }
}

}  // namespace
}  // namespace drapps
