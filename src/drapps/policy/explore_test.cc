#include "drapps/policy/explore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "drapps/plant/knob_range.h"
#include "drapps/policy/registry.h"

namespace drapps {
namespace {

TEST(Explore, DrawsEveryMoveAsOftenAsItSays) {
  PolicyConfig config{.name = "explore", .parameters = {{"share", 0.5}}};
  const Explore policy(config);
  PolicyState state{.limits = native_limits(8, 64, 1)};
  const Observation seen{.settings = {.knobs = {4, 64, 1, 1}}};  // workers go both ways, reads down alone
  std::map<std::string, int> counts;
  constexpr int kTurns = 6000;
  for (int i = 0; i < kTurns; ++i) {
    const Settings settings = policy.decide(seen, state);
    EXPECT_EQ(fit_settings(settings, state.limits), settings);
    ++counts[std::string(state.why.view())];
  }
  ASSERT_EQ(counts.size(), 4U);
  EXPECT_NEAR(counts["drawn: nothing moves, probability 0.5000"], kTurns / 2.0, 200);
  for (const char* move : {"workers up", "workers down", "io_depth down"}) {
    EXPECT_NEAR(counts["drawn: " + std::string(move) + ", probability 0.1667"], kTurns / 6.0, 150) << move;
  }
}

TEST(Explore, DrawsDependOnSeedAndTurnAlone) {
  const auto drawn = [](double seed) {
    const Explore policy({.name = "explore", .parameters = {{"share", 1}, {"seed", seed}}});
    PolicyState state{.limits = native_limits(64, 64, 16)};
    Observation seen{.settings = {.knobs = {8, 8, 4, 1}}};
    std::string all;
    for (int i = 0; i < 30; ++i) {
      seen.settings = policy.decide(seen, state);
      all += state.why.view();
    }
    return all;
  };
  EXPECT_EQ(drawn(1), drawn(1));
  EXPECT_NE(drawn(1), drawn(2));
}

TEST(Explore, WhereNothingCanMoveNothingDoes) {
  PolicyState state;
  EXPECT_EQ(Explore().decide({}, state), Settings{});
  EXPECT_EQ(state.why.view(), "drawn: nothing moves, probability 1.0000");
}

}  // namespace
}  // namespace drapps
