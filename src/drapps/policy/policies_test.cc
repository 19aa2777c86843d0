#include "drapps/policy/policies_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>

#include "drapps/plant/knob_range.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/guard.h"
#include "drapps/policy/hill_climb.h"
#include "drapps/policy/initial.h"
#include "drapps/policy/trials.h"

namespace drapps {
namespace {

Result<std::unique_ptr<Policy>> made_for_test(const PolicyConfig& config) {
  if (config.weights.size() == 1) return invalid("one byte is no network");
  return std::unique_ptr<Policy>(new Initial);
}

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

TEST(Initial, ManySmallBatchesAreMadeAhead) {
  const auto ahead = [](std::size_t batch_bytes) {
    return initial_settings(native_limits(4, 8, 32), batch_bytes)[KnobId::kPrefetchDepth];
  };
  EXPECT_EQ(ahead(0), 4);
  EXPECT_EQ(ahead(std::size_t{64} << 20), 4);
  EXPECT_EQ(ahead(std::size_t{1} << 20), 8);
  EXPECT_EQ(ahead(1), 32);
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
  for (const char* name : {"initial", "trials", "static", "hill_climb", "random", "random_raw", "faulty"}) {
    const auto policy = make_policy({.name = name});
    ASSERT_TRUE(policy.ok());
    EXPECT_EQ((*policy)->name(), name);
  }
  EXPECT_FALSE((*make_policy({.name = "random_raw"}))->guarded());
  EXPECT_TRUE((*make_policy({.name = "random"}))->guarded());
}

TEST(Registry, ThreadsThatRegisterAtOnceLoseNothing) {
  static const std::array<std::string, 8> names{"a", "b", "c", "d", "e", "f", "g", "h"};
  std::vector<std::jthread> threads;
  for (const std::string& name : names) {
    threads.emplace_back([&] { register_policy({name, &made_for_test}); });
  }
  threads.clear();
  for (const std::string& name : names) EXPECT_TRUE(make_policy({.name = name}).ok()) << name;
}

TEST(Registry, UnknownNameListsTheKnownOnes) {
  const auto policy = make_policy({.name = "hillclimb"});
  ASSERT_FALSE(policy.ok());
  EXPECT_EQ(policy.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(policy.error().message.find("hill_climb"), std::string::npos);
}

std::string refusal_of(const PolicyConfig& config) {
  const auto policy = make_policy(config);
  if (policy.ok()) return "made";
  EXPECT_EQ(policy.error().code, ErrorCode::kInvalidArgument);
  return policy.error().message;
}

TEST(Registry, ParametersAreThoseThatThePolicyDeclares) {
  const auto refusal = [](const char* name, double value) {
    return refusal_of({.name = "hill_climb", .parameters = {{name, value}}});
  };
  EXPECT_EQ(refusal("gain", 0.1), "made");
  EXPECT_EQ(refusal("patience", 60), "made");
  EXPECT_EQ(refusal("patients", 60), "policy hill_climb has no parameter patients; it has gain, patience");
  EXPECT_EQ(refusal("gain", 7), "the parameter gain of policy hill_climb must be a number from 0.001 to 0.5, not 7.0");
  EXPECT_THAT(refusal("gain", std::nan("")), testing::HasSubstr("gain"));
  EXPECT_THAT(refusal("patience", 1.5), testing::HasSubstr("must be a whole number from 1.0 to 10000.0, not 1.5"));
  EXPECT_EQ(refusal_of({.name = "initial", .parameters = {{"gain", 1}}}),
            "policy initial has no parameter gain; it has none");
  for (const auto& parameters : {std::span<const PolicyParameter>(HillClimb::kParameters), {Trials::kParameters}}) {
    for (const PolicyParameter& each : parameters) {
      EXPECT_TRUE(each.low <= each.fallback && each.fallback <= each.high) << each.name;
    }
  }
}

TEST(Registry, WhatAPolicyDeclaresCanBeAskedFor) {
  const auto declared = policy_parameters("hill_climb");
  ASSERT_TRUE(declared.ok());
  ASSERT_EQ(declared->size(), 2U);
  EXPECT_EQ((*declared)[0].name, "gain");
  EXPECT_TRUE(policy_parameters("initial")->empty());
  EXPECT_THAT(policy_parameters("fastest").error().message, testing::HasSubstr("there is no policy \"fastest\""));
}

TEST(Registry, WeightsAreForPoliciesThatLearnAndForThisSchema) {
  register_policy({.name = "learned", .make = made_for_test, .learned = true});
  const std::vector weights{std::byte{1}, std::byte{2}};
  const auto refusal = [&](const char* name, std::vector<std::byte> with, std::uint64_t schema) {
    return refusal_of({.name = name, .weights = std::move(with), .schema = schema});
  };
  EXPECT_EQ(refusal("learned", weights, schema_hash()), "made");
  EXPECT_EQ(refusal("learned", {}, 0), "made");
  EXPECT_EQ(refusal("initial", {}, schema_hash()), "made");
  EXPECT_EQ(refusal("initial", weights, schema_hash()), "policy initial has no weights");
  EXPECT_EQ(refusal("learned", {std::byte{1}}, schema_hash()), "one byte is no network");
  EXPECT_THAT(refusal("learned", std::vector<std::byte>(kMostWeightBytes + 1), schema_hash()),
              testing::HasSubstr("4194304 bytes at most"));
  for (const std::uint64_t other : {std::uint64_t{0}, schema_hash() + 1}) {
    EXPECT_THAT(refusal("learned", weights, other),
                testing::AllOf(testing::HasSubstr("another version's knobs and lanes: schema " + schema_hex(other)),
                               testing::HasSubstr(schema_hex(schema_hash()))));
  }
}

TEST(Registry, ThePaceIsTheConfigs) {
  register_test_policies();
  EXPECT_EQ((*make_policy({.name = "hill_climb"}))->pace({}), kFastClock);
  const KnobClock pace{.period_ns = 7, .count = 3};
  EXPECT_EQ((*make_policy({.name = "hill_climb", .pace = pace}))->pace({}), pace);
  const auto raw = make_policy({.name = "random_raw", .pace = pace});
  EXPECT_EQ((*raw)->name(), "random_raw");
  EXPECT_FALSE((*raw)->guarded());
}

TEST(Faulty, ThrowsAtItsSecondDecision) {
  const Faulty policy;
  PolicyState state{some_limits()};
  EXPECT_NO_THROW(policy.decide({}, state));
  EXPECT_THROW(policy.decide({}, state), std::runtime_error);
}

}  // namespace
}  // namespace drapps
