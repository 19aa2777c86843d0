#include "drapps/policy/policies_test.h"

#include <gtest/gtest.h>

#include <array>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "drapps/policy/guard.h"
#include "drapps/policy/initial.h"

namespace drapps {
namespace {

Limits some_limits() {
  Limits limits = native_limits(10, 32, 3, true);
  limits[KnobId::kProcesses] = {1, 20};
  limits.weighted = 0b0011'0110;
  return limits;
}

TEST(Initial, StartsWithinAnyLimits) {
  for (const Limits& limits : {Limits{}, some_limits(), native_limits(0, 1, -5), native_limits(1000, 1000, 1000)}) {
    EXPECT_EQ(fit_settings(initial_settings(limits), limits), initial_settings(limits));
  }
  EXPECT_EQ(initial_settings(some_limits())[KnobId::kWorkers], 10);
  EXPECT_EQ(initial_settings(some_limits())[KnobId::kPrefetchDepth], 3);
}

TEST(Initial, FollowsTheNumberOfWorkersThatThereMayBe) {
  PolicyState state{.limits = native_limits(2)};
  Observation seen{.settings = initial_settings(state.limits)};
  const auto workers = [&] { return Initial().decide(seen, state)[KnobId::kWorkers]; };
  EXPECT_EQ(workers(), 2);
  state.limits[KnobId::kWorkers].high = 6;
  EXPECT_EQ(workers(), 6);
  seen.settings[KnobId::kWorkers] = 3;  // a notch on the way
  EXPECT_EQ(workers(), 6);
  seen.settings[KnobId::kWorkers] = 6;
  EXPECT_EQ(workers(), 6);
  state.limits[KnobId::kWorkers].high = 1;
  EXPECT_EQ(workers(), 1);
  seen.settings[KnobId::kWorkers] = 1;
  state.limits[KnobId::kWorkers].high = 8;
  EXPECT_EQ(workers(), 8);
  seen.settings[KnobId::kWorkers] = 8;
  EXPECT_EQ(workers(), 8);
  seen.settings[KnobId::kWorkers] = 3;  // somebody wants fewer
  EXPECT_EQ(workers(), 3);
  state.limits[KnobId::kWorkers].high = 12;
  EXPECT_EQ(workers(), 3);
}

TEST(Initial, MovesNothingWhateverIsInForce) {
  Observation seen;
  seen.settings.knobs = {3, 5, 7, 0, 9};
  PolicyState state{some_limits()};
  EXPECT_EQ(Initial().decide(seen, state), seen.settings);
}

TEST(RandomWalk, StaysWithinTheBudgetsAndReachesAllOfThem) {
  const Limits limits = some_limits();
  const RandomWalk policy(7, true);
  PolicyState state{limits};
  std::set<std::int32_t> workers;
  std::set<std::int32_t> fused;
  for (int i = 0; i < 500; ++i) {
    const Settings settings = policy.decide({}, state);
    ASSERT_EQ(fit_settings(settings, limits), settings);
    workers.insert(settings[KnobId::kWorkers]);
    fused.insert(settings[KnobId::kFused]);
  }
  EXPECT_EQ(workers, (std::set<std::int32_t>{1, 2, 3, 4, 6, 8, 10}));
  EXPECT_EQ(fused.size(), 2u);
}

TEST(RandomWalk, RepeatsWithItsSeed) {
  PolicyState one{some_limits()};
  PolicyState two{some_limits()};
  for (int i = 0; i < 20; ++i) EXPECT_EQ(RandomWalk(3).decide({}, one), RandomWalk(3).decide({}, two));
  EXPECT_NE(RandomWalk(4).decide({}, one), RandomWalk(3).decide({}, two));
}

TEST(Registry, MakesEveryPolicyByItsName) {
  register_test_policies();
  register_test_policies();  // which changes nothing any more
  const std::vector<std::string_view> names = policy_names();
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
  for (const char* name : {"initial", "trials", "hill_climb", "random", "random_raw", "faulty"}) {
    const auto policy = make_policy(name);
    ASSERT_TRUE(policy.ok());
    EXPECT_EQ((*policy)->name(), name);
  }
  EXPECT_FALSE((*make_policy("random_raw"))->guarded());
  EXPECT_TRUE((*make_policy("random"))->guarded());
}

TEST(Registry, ThreadsThatRegisterAtOnceLoseNothing) {
  static const std::array<std::string, 8> names{"a", "b", "c", "d", "e", "f", "g", "h"};
  std::vector<std::jthread> threads;
  for (const std::string& name : names) {
    threads.emplace_back([&] { register_policy({name, [] { return std::unique_ptr<Policy>(new Initial); }}); });
  }
  threads.clear();
  for (const std::string& name : names) EXPECT_TRUE(make_policy(name).ok()) << name;
}

TEST(Registry, UnknownNameListsTheKnownOnes) {
  const auto policy = make_policy("hillclimb");
  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(policy.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(policy.error().message.find("hill_climb"), std::string::npos);
}

TEST(Faulty, ThrowsAtItsSecondDecision) {
  const Faulty policy;
  PolicyState state{some_limits()};
  EXPECT_NO_THROW(policy.decide({}, state));
  EXPECT_THROW(policy.decide({}, state), std::runtime_error);
}

}  // namespace
}  // namespace drapps
