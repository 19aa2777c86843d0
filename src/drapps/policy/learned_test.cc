#include "drapps/policy/learned.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "drapps/plant/knob_range.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/registry.h"

namespace drapps {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

rl::Mlp<float> drawn_actor(const LearnedShape& shape, std::uint64_t seed = 1) {
  rl::Mlp<float> actor = network_of(shape)->actor;
  rl::Random random(seed);
  actor.begin(random, 1);
  return actor;
}

std::vector<std::byte> drawn_weights(const LearnedShape& shape, std::uint64_t seed = 1) {
  return weights_to_bytes(shape, drawn_actor(shape, seed).parameters());
}

std::string refusal_of_weights(std::span<const std::byte> bytes) {
  const auto read = network_from_bytes(bytes);
  if (read.ok()) return "read";
  EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
  return read.error().message;
}

/// Whose network always has the knobs.
LearnedShape shape_without_fallback(std::size_t hidden = 64) {
  LearnedShape shape = default_shape(hidden);
  shape.falls_back = false;
  return shape;
}

Limits learned_limits() {
  Limits limits = native_limits(8, 64, 16, true);
  limits.cpus = 8;
  return limits;
}

Observation looked_at(std::uint64_t turn, const Settings& settings) {
  Observation seen{.time_ns = 1'000'000'000 + turn * 500'000'000, .batches = 10 * turn, .samples = 640 * turn};
  seen.consumer.step = {.count = 10 * turn, .sum = turn * 450'000'000};
  seen.consumer.stall = {.count = 10 * turn, .sum = turn * (turn % 3) * 90'000'000};
  seen.lanes[lane_place(LaneRole::kPrepare)] = {.valid = true,
                                                .service_wall = {.count = 640 * turn, .sum = turn * 3'000'000'000},
                                                .service_cpu = {.count = 640 * turn, .sum = turn * 2'000'000'000}};
  seen.workers = {.workers = 4, .wall_ns = turn * 4'000'000'000, .storage_ns = turn * 700'000'000};
  seen.settings = settings;
  return seen;
}

TEST(LearnedWeights, AreReadAsTheyWereWritten) {
  const LearnedShape shape = default_shape(16);
  const rl::Mlp<float> actor = drawn_actor(shape);
  const auto read = network_from_bytes(weights_to_bytes(shape, actor.parameters()));
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_TRUE(std::ranges::equal(read->actor.parameters(), actor.parameters()));
  EXPECT_EQ(read->actor.sizes(), actor.sizes());
  EXPECT_EQ(read->inputs.size(), shape.features.size() + shape.differences.size() + 2 * shape.knobs.size() + 1);
  LearnedShape forgetful = shape;
  forgetful.remembers_best = false;
  forgetful.knobs.front().move = KnobMove::kNotches;
  const auto less = network_from_bytes(drawn_weights(forgetful));
  ASSERT_TRUE(less.ok()) << less.error().message;
  EXPECT_EQ(less->inputs.size(), shape.features.size() + shape.differences.size() + shape.knobs.size());
  EXPECT_EQ(less->moves.heads().outputs(), read->moves.heads().outputs() + 2);
}

TEST(LearnedWeights, EveryFeatureOfTheDefaultIsThere) {
  const LearnedShape shape = default_shape();
  EXPECT_EQ(shape.features.size(), 36U);
  EXPECT_EQ(shape.differences.size(), kMostDifferences);
  EXPECT_EQ(network_of(shape)->moves.heads().outputs(), 18U);
}

TEST(LearnedInputs, KnowWhereTheFastestPaceWasAndMeasureItAnewThere) {
  const LearnedInputs inputs = *LearnedInputs::of({}, {}, {KnobId::kWorkers}, true);
  LearnedMemory memory{};
  Observation seen{.time_ns = 1};
  const auto next = [&](std::int32_t workers, std::uint64_t samples) {
    std::array<float, 3> into{};  // rest, pace, notches
    seen.time_ns += 500'000'000;
    seen.samples += samples;
    seen.settings[KnobId::kWorkers] = workers;
    inputs.next(seen, learned_limits(), memory, into.data());
    return into;
  };
  EXPECT_EQ(next(4, 100)[1], 0);  // nothing is known yet
  for (int i = 0; i < 8; ++i) EXPECT_EQ(next(4, 100)[1], 0);
  std::array<float, 3> slower = next(6, 50);
  EXPECT_LT(slower[1], -1);
  EXPECT_EQ(slower[2], -0.25F);  // a notch of four
  for (int i = 0; i < 8; ++i) slower = next(6, 50);
  EXPECT_EQ(slower[1], -3);
  EXPECT_EQ(slower[2], -0.25F);
  for (int i = 0; i < 60; ++i) slower = next(4, 50);  // the machine has changed: it is no faster there, either
  EXPECT_NEAR(slower[1], 0, 0.1);
  EXPECT_EQ(slower[2], 0);
  EXPECT_EQ(next(8, 200)[2], 0);  // faster than ever
}

TEST(LearnedWeights, WhatIsMissingOrMeansSomethingElseIsNamed) {
  LearnedShape shape = default_shape(4);
  shape.features[0].name = "consumer.hunger";
  EXPECT_EQ(refusal_of_weights(weights_to_bytes(shape, {})),
            "the weights use the feature \"consumer.hunger\", which this version does not have");
  shape = default_shape(4);
  shape.features[0].source = "stall in ms";
  EXPECT_THAT(refusal_of_weights(weights_to_bytes(shape, {})),
              HasSubstr("\"consumer.stall\" as \"stall in ms\" (share)"));
  shape = default_shape(4);
  shape.knobs[1].grid.pop_back();
  EXPECT_THAT(refusal_of_weights(weights_to_bytes(shape, {})), HasSubstr("the knob \"io_depth\" over other values"));
  shape.knobs[1].name = "threads";
  EXPECT_THAT(refusal_of_weights(weights_to_bytes(shape, {})), HasSubstr("\"threads\", which this version"));
  shape = default_shape(4);
  shape.lanes = {"decode", "teleport"};
  EXPECT_THAT(refusal_of_weights(weights_to_bytes(shape, {})), HasSubstr("the lane \"teleport\""));
  shape = default_shape(4);
  shape.differences.emplace_back("swap");
  EXPECT_THAT(refusal_of_weights(weights_to_bytes(shape, {})), HasSubstr("16 differences at most"));
  shape.hidden = {100'000};
  shape.differences.clear();
  EXPECT_THAT(refusal_of_weights(weights_to_bytes(shape, {})), HasSubstr("1 to 512 numbers in each layer"));
}

TEST(LearnedWeights, WhatIsTruncatedDamagedOrNoNumberIsRefused) {
  const LearnedShape shape = default_shape(4);
  const std::vector<std::byte> whole = drawn_weights(shape);
  for (const std::size_t size : {std::size_t{20}, std::size_t{200}, whole.size() - 1}) {
    EXPECT_EQ(refusal_of_weights(std::span(whole).first(size)), "the weights are truncated") << size;
  }
  EXPECT_THAT(refusal_of_weights(std::span(whole).first(5)), HasSubstr("no weights of a learned policy"));
  std::vector<std::byte> other = whole;
  other.push_back(std::byte{0});
  EXPECT_THAT(refusal_of_weights(other), HasSubstr("more than their network has"));
  other = whole;
  other[whole.size() - 20] ^= std::byte{1};
  EXPECT_EQ(refusal_of_weights(other), "the weights are damaged");
  other = whole;
  other[15] = std::byte{'2'};
  EXPECT_THAT(refusal_of_weights(other), HasSubstr("a format of another version"));
  rl::Mlp<float> actor = drawn_actor(shape);
  actor.parameters()[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(refusal_of_weights(weights_to_bytes(shape, actor.parameters())), "one of the weights is no number");
  actor.parameters()[3] = 1e20F;
  EXPECT_THAT(refusal_of_weights(weights_to_bytes(shape, actor.parameters())), HasSubstr("larger than any"));
}

TEST(LearnedPolicy, NeedsWeightsAndNoSchema) {
  EXPECT_THAT(make_policy({.name = "ppo"}).error().message, HasSubstr("no weights of its own"));
  const auto policy = make_policy({.name = "ppo", .weights = drawn_weights(default_shape(8))});
  ASSERT_TRUE(policy.ok()) << policy.error().message;
  EXPECT_EQ((*policy)->name(), "ppo");
  EXPECT_TRUE((*policy)->knows({}));
}

TEST(LearnedPolicy, MovesNotchesWithinTheLimitsAndRestsAfterwards) {
  const Limits limits = learned_limits();
  std::size_t moves = 0;
  for (std::uint64_t seed = 1; seed <= 8; ++seed) {
    const auto policy = make_policy({.name = "ppo", .weights = drawn_weights(shape_without_fallback(), seed)});
    PolicyState state{.limits = limits};
    Settings settings{.knobs = {4, 8, 4, 1}};
    std::array<std::uint64_t, kKnobs> moved_at{};
    for (std::uint64_t turn = 1; turn <= 40; ++turn) {
      const Settings next = (*policy)->decide(looked_at(turn, settings), state);
      EXPECT_EQ(fit_settings(next, limits), next);
      for (const Knob& knob : knob_table()) {
        const KnobRange range = range_of(knob.id, limits);
        const auto i = static_cast<std::size_t>(knob.id);
        if (next[knob.id] == settings[knob.id]) continue;
        ++moves;
        EXPECT_TRUE(next[knob.id] == range.up(settings[knob.id]) || next[knob.id] == range.down(settings[knob.id]));
        EXPECT_TRUE(moved_at[i] == 0 || turn >= moved_at[i] + 2);
        moved_at[i] = turn;
      }
      EXPECT_EQ(state.why.view().starts_with("nothing looks better than to stay"), next == settings);
      EXPECT_TRUE((*policy)->knows(state));
      settings = next;
    }
  }
  EXPECT_GT(moves, 20U);
}

TEST(LearnedPolicy, SaysThatItMovesWorkersBetweenLanes) {
  LearnedShape shape = shape_without_fallback(4);
  shape.knobs.clear();
  shape.lanes = {"decode", "augment"};
  LearnedNetwork network = *network_of(shape);
  network.actor.parameters().end()[-2] = 1;  // the bias of a sixteenth from decode to augment
  PolicyState state{.limits = learned_limits()};
  state.limits.weighted[lane_place(LaneRole::kDecode)] = state.limits.weighted[lane_place(LaneRole::kAugment)] = true;
  Settings settings{.knobs = {4, 8, 4, 0}};
  settings.lane_weights[lane_place(LaneRole::kDecode)] = 10;
  settings.lane_weights[lane_place(LaneRole::kAugment)] = 6;
  const Settings next = LearnedPolicy(std::move(network), "ppo").decide(looked_at(1, settings), state);
  EXPECT_EQ(next.lane_weights[lane_place(LaneRole::kDecode)], 9);
  EXPECT_EQ(state.why.view(), "the network moves workers from one lane to another");
}

TEST(LearnedPolicy, WithAFallbackMeasuresFirstAndTakesBackWhatMadeSamplesSlower) {
  LearnedNetwork network = *network_of(default_shape(4));
  network.actor.parameters().end()[-16] = 1;  // the bias of workers up, of six knobs with three choices each
  const LearnedPolicy policy(std::move(network), "ppo");
  PolicyState state{.limits = learned_limits()};
  const Settings start{.knobs = {4, 8, 4, 1}};
  Settings settings = start;
  std::vector<std::string> said;
  Observation seen{.time_ns = 1'000'000'000};
  for (int turn = 0; turn < 12; ++turn) {
    seen.time_ns += 500'000'000;
    seen.samples += settings == start ? 500 : 400;
    seen.settings = settings;
    settings = policy.decide(seen, state);
    EXPECT_TRUE(policy.knows(state));
    if (said.empty() || said.back() != state.why.view()) said.emplace_back(state.why.view());
  }
  EXPECT_EQ(settings, start);
  EXPECT_THAT(said,
              ElementsAre("measures how fast samples come before it moves anything", "the network moves workers up",
                          HasSubstr("nothing looks better than to stay"), "the network moves workers up",
                          "its moves were slower: back to settings that were faster",
                          "its moves were slower: the faster settings stay for a while"));
}

TEST(LearnedPolicy, LeavesWorkerProcessesToTrialsAndThreadsToItsNetwork) {
  LearnedShape shape = default_shape(8);
  std::erase_if(shape.knobs, [](const NamedKnob& each) { return each.name == "processes"; });
  const auto alone = *make_policy({.name = "ppo", .weights = drawn_weights(shape)});
  shape.over = "trials";
  const auto over = *make_policy({.name = "ppo", .weights = drawn_weights(shape)});
  const auto trials = *make_policy({.name = "trials"});

  Limits limits;
  limits[KnobId::kProcesses] = {1, 100};
  limits.cpus = 2;
  EXPECT_EQ(over->pace(limits), trials->pace(limits));
  PolicyState state{.limits = limits}, state_of_trials{.limits = limits};
  Observation seen;
  std::int32_t most = seen.settings[KnobId::kProcesses] = 2;
  for (std::uint64_t turn = 1; turn < 8; ++turn) {  // a tenth of the cores is used, and the consumer waits
    seen.time_ns = 1'000'000'000 + turn * 250'000'000;
    seen.consumer.stall.sum = turn * 250'000'000;
    seen.processes = {.output = 25 * turn, .demand_ns = turn * 50'000'000, .idle_cores_ns = turn * 450'000'000};
    const Settings wanted = trials->decide(seen, state_of_trials);
    EXPECT_EQ(over->decide(seen, state), wanted);
    EXPECT_EQ(state.why.view(), state_of_trials.why.view());
    EXPECT_EQ(state.trying, state_of_trials.trying);
    EXPECT_TRUE(over->knows(state));
    seen.settings = wanted;
    most = std::max(most, wanted[KnobId::kProcesses]);
  }
  EXPECT_EQ(most, 20);  // as many as fill the cores
  state.memory.fill(std::byte{0xAB});
  EXPECT_FALSE(over->knows(state));

  limits = learned_limits();
  EXPECT_EQ(over->pace(limits), kLearnedPace);
  state = {.limits = limits};
  PolicyState state_alone{.limits = limits};
  Settings settings = fit_settings({}, limits);
  for (std::uint64_t turn = 1; turn < 8; ++turn) {
    const Observation threads = looked_at(turn, settings);
    settings = alone->decide(threads, state_alone);
    EXPECT_EQ(over->decide(threads, state), settings);
  }
}

TEST(LearnedPolicy, TheSameSeenAndRememberedGivesTheSame) {
  const auto policy = make_policy({.name = "ppo", .weights = drawn_weights(default_shape(), 5)});
  PolicyState state{.limits = learned_limits()};
  Settings settings{.knobs = {4, 8, 4, 1}};
  for (std::uint64_t turn = 1; turn <= 10; ++turn) settings = (*policy)->decide(looked_at(turn, settings), state);
  PolicyState other = state;
  const Observation seen = looked_at(11, settings);
  EXPECT_EQ((*policy)->decide(seen, state), (*policy)->decide(seen, other));
  EXPECT_EQ(state.memory, other.memory);
}

TEST(Published, EachDesignSeesMovesAndDecidesAsItsPaperSays) {
  const auto policy_of = [](const char* name) {
    const LearnedShape shape = *published_shape(name, 4);
    const auto read = network_from_bytes(drawn_weights(shape));
    EXPECT_TRUE(read.ok()) << read.error().message;
    return *make_policy({.name = name, .weights = drawn_weights(shape)});
  };
  EXPECT_EQ(published_shape("paper-a")->features.size(), 27U);
  EXPECT_EQ(published_shape("paper-b")->features.size(), 4U);
  EXPECT_FALSE(published_shape("ppo"));
  EXPECT_EQ(policy_of("paper-a")->pace({}), kFastClock);
  EXPECT_EQ(policy_of("paper-b")->pace({}), kBatchClock);
  EXPECT_EQ(policy_of("paper-c")->pace({}), kBatchClock);
}

TEST(Published, MoveOnlyWhatThePlantHasAndSayWhatIsMasked) {
  const LearnedShape shape = *published_shape("paper-a", 4);
  LearnedNetwork network = *network_of(shape);
  const LearnedPolicy policy(std::move(network), "paper-a");
  PolicyState state{.limits = learned_limits()};
  state.limits[KnobId::kForm] = {0, 4};
  const Settings settings{.knobs = {4, 8, 4, 1}};
  const Settings next = policy.decide(looked_at(1, settings), state);
  EXPECT_EQ(fit_settings(next, state.limits), next);
  EXPECT_EQ(next[KnobId::kDecodeOnGpu], settings[KnobId::kDecodeOnGpu]);
  EXPECT_EQ(state.why.view(), "nothing looks better than to stay; masked: processes, and 2 more");
  const LearnedPolicy other(*network_of(*published_shape("paper-b", 4)), "paper-b");
  EXPECT_EQ(other.decide(looked_at(2, settings), state), settings);
  EXPECT_EQ(state.why.view(), "this plant has nothing that it moves: decode_on_gpu");
}

TEST(LearnedPolicy, DrawsItsMovesByTheTimeOfTheObservationWhereItGoesOnLearning) {
  const LearnedShape shape = shape_without_fallback(4);
  const std::vector<std::byte> weights = weights_to_bytes(shape, network_of(shape)->actor.parameters());
  const auto moves = [&](bool learn) {
    const auto policy = *make_policy({.name = "ppo", .weights = weights, .learn = learn});
    EXPECT_EQ(policy->judged(), learn);
    PolicyState state{.limits = learned_limits()};
    std::vector<Settings> seen;
    Settings settings{.knobs = {4, 8, 4, 1}};
    for (std::uint64_t turn = 1; turn < 40; ++turn) {
      settings = policy->decide(looked_at(turn, settings), state);
      seen.push_back(settings);
    }
    return seen;
  };
  // Of equal choices the likeliest is the first, to stay.
  EXPECT_EQ(moves(false), std::vector<Settings>(39, Settings{.knobs = {4, 8, 4, 1}}));
  EXPECT_NE(moves(true), moves(false));
  EXPECT_EQ(moves(true), moves(true));
}

TEST(LearnedWeights, TakeOtherParameters) {
  const LearnedShape shape = default_shape(4);
  const rl::Mlp<float> other = drawn_actor(shape, 2);
  EXPECT_EQ(with_parameters(drawn_weights(shape), other.parameters()), drawn_weights(shape, 2));
}

TEST(LearnedPolicy, KnowsNoMemoryThatCannotBe) {
  const LearnedPolicy policy(*network_of(default_shape(4)), "ppo");
  PolicyState state;
  LearnedMemory memory{};
  memory.last[2] = std::numeric_limits<float>::quiet_NaN();
  state.store(memory);
  EXPECT_FALSE(policy.knows(state));
  state.memory[0] = std::byte{3};
  EXPECT_FALSE(policy.knows(state));
}

}  // namespace
}  // namespace drapps
