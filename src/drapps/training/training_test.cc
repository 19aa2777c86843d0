#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "drapps/base/full_testing.h"
#include "drapps/control/simulation.h"
#include "drapps/policy/registry.h"
#include "drapps/training/trainer.h"

namespace drapps::training {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr std::array kSomeKnobs{KnobId::kWorkers, KnobId::kIoDepth, KnobId::kPrefetchDepth, KnobId::kProcesses};

json small_options() {
  return {{"seed", 3}, {"decisions", 2048}, {"hidden", 16}, {"worlds", 12}, {"environments", 8}, {"steps", 64}};
}

std::unique_ptr<Trainer> small_trainer(const json& more = json::object()) {
  json options = small_options();
  options.update(more);
  auto read = training_options_from_json(options);
  EXPECT_TRUE(read.ok()) << read.error().message;
  auto begun = Trainer::begun(*read);
  EXPECT_TRUE(begun.ok());
  return *std::move(begun);
}

TEST(Reward, EachPublishedOneIsItsFormula) {
  const Stretch stretch{.rate = 50,
                        .best = 100,
                        .asked = 200,
                        .stall = 0.4,
                        .gpu = 0.6,
                        .cpu = 0.9,
                        .threads = 0.5,
                        .memory = 0.2,
                        .moves = 2};
  const auto of = [&](const char* name) { return reward_of(*reward_named(name), stretch); };
  EXPECT_NEAR(of("own"), 0.5 - 0.04 * 0.5 - 0.05 * 0.2 - 0.004 * 2, 1e-12);
  Stretch behind = stretch;
  behind.held = 80;
  EXPECT_NEAR(reward_of({.weights = {0, 0, 0, 2}}, behind), 0.5 - 2 * 0.3, 1e-12);
  EXPECT_NEAR(of("paper-a"), 0.25 - 0.5 * 0.4 - 0.5 * 0.4 - 0.1 * 0.3, 1e-12);
  EXPECT_NEAR(of("paper-b"), -(0.4 + 0.5 * 0.3), 1e-12);
  EXPECT_NEAR(of("paper-c"), -(0.4 + 0.5), 1e-12);
  EXPECT_FALSE(reward_named("paper-d"));
  Stretch busy = stretch;
  busy.gpu = 0.95;
  EXPECT_NEAR(reward_of(*reward_named("paper-c"), busy), -0.4, 1e-12);
}

TEST(Episodes, AreAFunctionOfTheirSeedAndTheirBestIsNoWorseThanTheBeginning) {
  const auto course = make_episodes({.count = 8, .seed = 5}, kSomeKnobs);
  const auto again = make_episodes({.count = 8, .seed = 5}, kSomeKnobs);
  const auto other = make_episodes({.count = 8, .seed = 6}, kSomeKnobs);
  std::size_t changing = 0;
  for (std::size_t i = 0; i < course.size(); ++i) {
    const Episode& episode = course[i];
    EXPECT_EQ(episode.rates, again[i].rates);
    EXPECT_NE(episode.rates, other[i].rates);
    EXPECT_EQ(episode.best.size(), episode.scenario.segments.size());
    for (std::size_t s = 0; s < episode.best.size(); ++s) {
      const sim::World& world = episode.scenario.segments[s].world;
      EXPECT_GE(episode.rates[s] * 1.01, held_rate(world, episode.initial));
      EXPECT_GT(episode.rates[s], 0);
    }
    changing += episode.best.size() - 1;
  }
  EXPECT_GE(changing, 3U);
}

TEST(Episodes, AreWithoutPythonCodeForThoseWhoMoveNoWorkerProcesses) {
  const auto with_processes = [](bool processes) {
    const auto course = make_episodes({.count = 16, .seed = 5, .processes = processes}, kSomeKnobs);
    return std::ranges::count_if(
        course, [](const Episode& each) { return each.scenario.segments.front().world.in_processes(); });
  };
  EXPECT_GT(with_processes(true), 0);
  EXPECT_EQ(with_processes(false), 0);
}

TEST(PlantEnvironment, AnEpisodeIsItsNumberAndItsActions) {
  const auto network = std::make_shared<const LearnedNetwork>(*network_of(default_shape(4)));
  const auto course =
      std::make_shared<const Course>(Course{make_episodes({.count = 4, .seed = 1}, network->moves.knobs())});
  PlantEnvironment one(course, network, {});
  PlantEnvironment two(course, network, {});
  rl::Random random(1);
  std::vector<float> inputs(one.inputs()), other(one.inputs());
  std::vector<std::uint8_t> mask(18), other_mask(18);
  const std::vector<float> logits(18);
  for (std::uint64_t number = 1; number <= 6; ++number) {
    one.begin(number);
    std::vector<std::vector<float>> actions;
    std::vector<double> rewards;
    for (rl::Outcome outcome; !outcome.cut;) {
      one.look(inputs.data(), mask.data());
      for (const float input : inputs) ASSERT_TRUE(std::isfinite(input));
      std::vector<float> action(6);
      network->moves.heads().sample(logits.data(), mask.data(), random, action.data());
      outcome = one.step(action.data());
      ASSERT_FALSE(outcome.ended);
      ASSERT_LE(outcome.reward, 1.2);
      actions.push_back(action);
      rewards.push_back(outcome.reward);
    }
    EXPECT_GT(actions.size(), 8U);
    two.begin(number);
    for (std::size_t i = 0; i < actions.size(); ++i) EXPECT_EQ(two.step(actions[i].data()).reward, rewards[i]);
    two.look(other.data(), other_mask.data());
    one.look(inputs.data(), mask.data());
    EXPECT_EQ(inputs, other);
    EXPECT_EQ(mask, other_mask);
  }
}

TEST(Trainer, TheSameOptionsGiveTheSameWeightsAndOthersOthers) {
  const auto trained = [](const json& more) {
    const auto trainer = small_trainer(more);
    while (!trainer->done()) trainer->go_on();
    return trainer->weights();
  };
  const auto weights = trained(json::object());
  EXPECT_EQ(trained(json::object()), weights);
  EXPECT_NE(trained({{"seed", 4}}), weights);
  EXPECT_NE(trained({{"reward", "paper-b"}}), weights);
  const auto policy = make_policy({.name = "ppo", .weights = weights});
  EXPECT_TRUE(policy.ok());
}

TEST(Trainer, GoesOnFromACheckpointToTheLastBit) {
  const auto through = small_trainer();
  for (int i = 0; i < 2; ++i) through->go_on();
  const std::vector<std::uint8_t> saved = through->save();
  const auto again = Trainer::restored(saved);
  ASSERT_TRUE(again.ok()) << again.error().message;
  while (!through->done()) through->go_on();
  while (!(*again)->done()) (*again)->go_on();
  EXPECT_EQ((*again)->save(), through->save());
  EXPECT_EQ((*again)->curve().size(), 4U);
}

TEST(Trainer, HardEpisodesAreLookedForAndACheckpointKnowsThem) {
  const int decisions = full_tests() ? 4096 : 2048;
  const json options{{"hard", 0.5}, {"decisions", decisions}};
  const auto through = small_trainer(options);
  for (int i = 0; i < 3; ++i) through->go_on();
  const std::vector<std::uint8_t> saved = through->save();
  const auto again = Trainer::restored(saved);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ((*again)->save(), saved);
  while (!through->done()) through->go_on();
  while (!(*again)->done()) (*again)->go_on();
  EXPECT_EQ((*again)->save(), through->save());
  const auto plain = small_trainer({{"decisions", decisions}});
  while (!plain->done()) plain->go_on();
  EXPECT_NE(plain->weights(), through->weights());
}

TEST(Episodes, AreLikeAWorldThatWasFitted) {
  sim::World world;
  world.workload.stages[sim::kPythonStage] = {.cpu = 2e-3, .sleep = 1e-2};
  world.consumer.step = 0.25;
  int other_sleep = 0;  // in the middle of an episode
  const auto python = [&](double like) {
    int count = 0;
    for (const Episode& episode :
         make_episodes({.count = 32, .world = world, .like = like, .spread = 0.1}, kSomeKnobs)) {
      const sim::World& own = episode.scenario.segments.front().world;
      const double cpu = own.workload.stages[sim::kPythonStage].cpu;
      count += std::abs(cpu / 2e-3 - 1) < 0.5 && own.machine.cores.count == 2 ? 1 : 0;
      EXPECT_EQ(episode.held.front(), episode.rates.front());
      const sim::World& end = episode.scenario.segments.back().world;
      other_sleep += end.workload.stages[sim::kPythonStage].sleep != own.workload.stages[sim::kPythonStage].sleep;
    }
    return count;
  };
  EXPECT_EQ(python(1), 32);
  EXPECT_GT(other_sleep, 0);
  EXPECT_LT(python(0), 8);
  EXPECT_GT(python(0.5), 6);
}

TEST(Trainer, SoftActorCriticGoesOnFromACheckpointToTheLastBit) {
  const json options{{"learner", "sac"}, {"kept", 1024}, {"updates", 4}, {"decisions", 512}};
  const auto through = small_trainer(options);
  through->go_on();
  const auto again = Trainer::restored(through->save());
  ASSERT_TRUE(again.ok()) << again.error().message;
  while (!through->done()) through->go_on();
  while (!(*again)->done()) (*again)->go_on();
  EXPECT_EQ((*again)->save(), through->save());
  EXPECT_TRUE(make_policy({.name = "sac", .weights = through->weights()}).ok());
}

TEST(Trainer, SoftActorCriticLearnsTheSharesOfPublishedDesigns) {
  for (const char* design : {"paper-a", "paper-c"}) {
    const json options{{"learner", design}, {"sac", 1}, {"kept", 1024}, {"updates", 4}, {"decisions", 512}};
    const auto through = small_trainer(options);
    through->go_on();
    const auto again = Trainer::restored(through->save());
    ASSERT_TRUE(again.ok()) << again.error().message;
    while (!through->done()) through->go_on();
    while (!(*again)->done()) (*again)->go_on();
    EXPECT_EQ((*again)->save(), through->save());
    EXPECT_TRUE(make_policy({.name = design, .weights = through->weights()}).ok());
    const auto by_ppo = small_trainer({{"learner", design}, {"decisions", 512}});
    while (!by_ppo->done()) by_ppo->go_on();
    EXPECT_NE(by_ppo->weights(), through->weights());
  }
  const auto refused = training_options_from_json({{"learner", "ppo"}, {"sac", 1}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("is for residual and published designs"));
}

TEST(Trainer, ADamagedCheckpointIsRefused) {
  std::vector<std::uint8_t> saved = small_trainer()->save();
  const auto refused = [](std::span<const std::uint8_t> bytes) {
    const auto trainer = Trainer::restored(bytes);
    return trainer.ok() ? "made" : trainer.error().message;
  };
  EXPECT_THAT(refused({}), HasSubstr("no checkpoint of a training"));
  EXPECT_THAT(refused(std::span(saved).first(saved.size() / 2)), HasSubstr("no checkpoint of a training"));
  saved[saved.size() / 2] ^= 1;
  EXPECT_THAT(refused(saved), HasSubstr("no checkpoint of a training"));
}

TEST(Trainer, OptionsThatCannotBeAreNamed) {
  const auto refused = [](const json& options) {
    const auto read = training_options_from_json(options);
    return read.ok() ? "read" : read.error().message;
  };
  EXPECT_EQ(refused(json::object()), "read");
  EXPECT_EQ(refused({{"seed", 0.5}}), "seed of a training must be a whole number from 0.0 to 1000000000.0");
  EXPECT_THAT(refused({{"hidden", 1000}}), HasSubstr("hidden of a training must be a whole number from 1.0 to 512.0"));
  EXPECT_THAT(refused({{"reward", "mine"}}), HasSubstr("must be own, paper-a, paper-b or paper-c"));
  EXPECT_THAT(refused({{"reward_weights", {1, -1}}}), HasSubstr("up to four numbers"));
  EXPECT_EQ(refused({{"epochs", 3}}), "a training has no option epochs");
  EXPECT_THAT(refused({{"warm", 0.9}, {"anywhere", 0.2}}), HasSubstr("1 together at most"));
  EXPECT_THAT(refused(json::array()), HasSubstr("an object"));
  const auto read = training_options_from_json({{"reward", "paper-b"}, {"reward_weights", {2}}, {"gamma", 0.8}});
  EXPECT_EQ(training_options_from_json(training_options_to_json(*read))->plant.reward.weights,
            (std::array<double, 4>{2, 0.5, 0, 0}));
}

TEST(Trainer, WorkerProcessesThatNobodyMovesAreRefused) {
  json options = small_options();
  options["world"] = {{"python", {{"cpu", 1e-3}, {"sleep", 1e-2}}}};
  const auto begun = [&](const char* learner) {
    options["learner"] = learner;
    return Trainer::begun(*training_options_from_json(options));
  };
  EXPECT_THAT(begun("paper-b").error().message,
              HasSubstr("are of worker processes, and paper-b moves none: nothing can be learnt from them"));
  EXPECT_THAT(begun("ppo").error().message, HasSubstr("(the policy trials moves them; trials=0 lets ppo do it)"));
  EXPECT_TRUE(begun("paper-a").ok());
  options["trials"] = 0;
  EXPECT_TRUE(begun("ppo").ok());
}

/// A network that always wants the least of everything.
std::unique_ptr<Policy> policy_of_less(bool judge, bool falls_back) {
  LearnedShape shape = default_shape(1);
  shape.falls_back = falls_back;
  rl::Mlp<float> actor = network_of(shape)->actor;
  const std::span<float> biases = actor.parameters().last(actor.outputs());
  for (std::size_t i = LearnedMoves::kDown; i < biases.size(); i += LearnedMoves::kChoices) biases[i] = 1;
  auto policy = make_policy({.name = "ppo", .judge = judge, .weights = weights_to_bytes(shape, actor.parameters())});
  EXPECT_TRUE(policy.ok());
  return *std::move(policy);
}

TEST(LearnedPolicy, ThatMakesALoaderSlowIsThrownOutByTheJudgeOrTakenBackByItsFallback) {
  sim::World world;
  world.machine.cores.count = 8;
  world.workload.stages[sim::kDecodeStage].cpu = 4e-3;
  world.consumer.step = world.workload.batch * 4e-3 / 7;
  const auto samples = [&](std::unique_ptr<Policy> policy) {
    return sim::run(sim::stationary(world, 600), std::move(policy)).segments.back().totals.samples;
  };
  const double held = samples(nullptr);
  EXPECT_LT(samples(policy_of_less(false, false)), 0.3 * held);
  EXPECT_GT(samples(policy_of_less(true, false)), 0.9 * held);
  EXPECT_GT(samples(policy_of_less(false, true)), 0.9 * held);
}

}  // namespace
}  // namespace drapps::training
