#include "drapps/control/live_learner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <thread>

#include "drapps/control/client.h"
#include "drapps/control/controller.h"
#include "drapps/control/fake_plant_test.h"
#include "drapps/control/recording.h"
#include "drapps/control/simulation.h"
#include "drapps/policy/published.h"
#include "drapps/policy/registry.h"
#include "drapps/sim/fluid_plant.h"
#include "drapps/trace/replay.h"
#include "drapps/trace/writer.h"

namespace drapps {
namespace {

using testing::HasSubstr;
namespace fs = std::filesystem;

/// Weights that want the same whatever they see: the first choices of all knobs that move by notches.
std::vector<std::byte> wanting(const LearnedShape& shape, LearnedMoves::Choice choice) {
  rl::Mlp<float> actor = network_of(shape)->actor;
  const std::span<float> biases = actor.parameters().last(actor.outputs());
  std::size_t at = 0;
  for (const NamedKnob& knob : shape.knobs) {
    if (knob.move != KnobMove::kNotch) break;
    biases[at + choice] = 30;
    at += LearnedMoves::kChoices;
  }
  return weights_to_bytes(shape, actor.parameters());
}

/// Photographs that seven of eight cores can make as fast as the training takes them.
sim::Scenario seven_cores(double seconds) {
  sim::World world;
  world.machine.cores.count = 8;
  world.workload.stages[sim::kDecodeStage].cpu = 4e-3;
  world.consumer.step = world.workload.batch * 4e-3 / 7;
  return sim::stationary(world, seconds);
}

/// A simulated plant under control, ticked as the control thread does.
struct Simulated {
  explicit Simulated(const PolicyConfig& config)
      : plant(std::make_shared<sim::FluidPlant>(seven_cores(1e6), begun())),
        client(plant, *make_policy(config), nullptr, config) {}

  static Settings begun() {
    Settings settings = initial_settings(sim::limits_of(seven_cores(1).segments[0].world));
    settings[KnobId::kWorkers] = 8;
    return settings;
  }
  void run(double seconds) {
    for (int tick = 0; tick < seconds * 10; ++tick) {
      plant->advance(0.1);
      client.tick([&] { return plant->counters().time_ns; });
    }
  }
  nlohmann::json learnt() const { return client.learning(); }
  std::string log() const { return client.log().to_json()["entries"].dump(); }

  std::shared_ptr<sim::FluidPlant> plant;
  Client client;
};

struct LiveLearning : testing::Test {
  LiveLearning() {
    std::string name = (fs::temp_directory_path() / "drapps_learned_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root = name;
  }
  ~LiveLearning() override { fs::remove_all(root); }

  /// Learns with every update.
  PolicyConfig in_the_loop(LearnedMoves::Choice choice = LearnedMoves::kStay) const {
    return {.name = "paper-a",
            .weights = wanting(*published_shape("paper-a", 8), choice),
            .learn = true,
            .keep_in = root / "kept"};
  }
  PolicyConfig careful(LearnedMoves::Choice choice, bool falls_back = false) const {
    LearnedShape shape = default_shape(8);
    shape.falls_back = falls_back;
    return {.name = "ppo", .weights = wanting(shape, choice), .learn = true, .keep_in = root / "kept"};
  }
  fs::path kept_of(const PolicyConfig& config) const { return root / "kept" / weights_hash(config.weights); }

  fs::path root;
};

TEST_F(LiveLearning, IsOnlyWhereItIsAskedFor) {
  PolicyConfig config = in_the_loop();
  config.learn = false;
  Simulated run(config);
  run.run(70);
  EXPECT_TRUE(run.learnt().is_null());
  EXPECT_FALSE(fs::exists(root / "kept"));
}

TEST_F(LiveLearning, NewWeightsAreInForceAfterAnUpdateAndTakeLittleOfACore) {
  Simulated run(in_the_loop());
  run.run(60);
  EXPECT_EQ(run.learnt()["updates"], 0);
  EXPECT_GT(run.learnt()["steps"], 50);
  run.run(80);
  const nlohmann::json learnt = run.learnt();
  EXPECT_GE(learnt["updates"], 1);
  EXPECT_EQ(learnt["renewals"], learnt["updates"]);
  EXPECT_NE(learnt["weights"], learnt["given"]);
  EXPECT_LE(learnt["core_share"], 0.01);
  EXPECT_GT(learnt["cpu_s"], 0);
  EXPECT_THAT(run.log(), HasSubstr("are in force from here on"));
  EXPECT_EQ(run.client.log().stop_reason(), "");
}

TEST_F(LiveLearning, ASimulatedRunLearnsAsALiveOneDoes) {
  PolicyConfig config = in_the_loop();
  const std::string path = root / "run.trace";
  const auto run = [&](sim::RunOptions options) {
    options.config = config;
    return sim::run(seven_cores(400), *make_policy(config), Simulated::begun(), {}, options).learning;
  };
  const nlohmann::json learnt = run({.writer = *trace::TraceWriter::open(path, "{}")});
  EXPECT_GE(learnt["updates"], 2);
  EXPECT_NE(learnt["weights"], learnt["given"]);
  EXPECT_LE(learnt["core_share"], 0.01);
  EXPECT_GE(learnt["kept"], 1) << learnt;
  const auto replayed = trace::replay(**trace::TraceReader::open(path), root);
  ASSERT_TRUE(replayed.ok()) << replayed.error().to_string();
  EXPECT_EQ(replayed->first_difference, "");
  EXPECT_GT(replayed->decisions, 400U);
  config.learn = false;
  EXPECT_TRUE(run({}).is_null());
}

TEST_F(LiveLearning, DoesNothingWithoutTime) {
  const PolicyConfig config = in_the_loop();
  const auto updates = [&](double share) {
    const auto learner = *LiveLearner::make(config, {.steps = 16, .most_core = share});
    sim::FluidPlant plant(seven_cores(1e6), Simulated::begun());
    Decider decider(*make_policy(config), plant.limits());
    for (int i = 0; i < 100; ++i) {
      plant.advance(0.5);
      const PolicyState before = decider.state();
      const Observation seen = plant.observe();
      const Decision decision = decider.decide(seen, [&] { return plant.counters().time_ns; });
      learner->decided(seen, before, decision, decider);
      plant.apply(decision.applied);
      learner->go_on(plant.counters().time_ns);
    }
    return learner->to_json()["updates"].get<int>();
  };
  EXPECT_EQ(updates(0), 0);
  EXPECT_GT(updates(1), 0);
}

TEST_F(LiveLearning, WhatTheJudgeUpholdsIsKeptAndBegunWithTheNextTime) {
  const PolicyConfig config = in_the_loop();
  nlohmann::json learnt;
  {
    Simulated run(config);
    run.run(400);
    learnt = run.learnt();
  }
  EXPECT_GE(learnt["kept"], 1) << learnt;
  EXPECT_EQ(learnt["trouble"], nullptr);
  const std::vector<std::byte> kept = KeptWeights(kept_of(config)).latest();
  ASSERT_FALSE(kept.empty());
  EXPECT_NE(kept, config.weights);
  Simulated again(config);
  EXPECT_EQ(again.learnt()["weights"], weights_hash(kept));
  EXPECT_EQ(again.learnt()["given"], weights_hash(config.weights));
  // What is learnt of other weights, or of another pipeline, is apart.
  PolicyConfig other = config;
  other.keep_in = root / "other";
  EXPECT_EQ(Simulated(other).learnt()["weights"], weights_hash(config.weights));
}

TEST_F(LiveLearning, WeightsThatTheJudgeThrowsOutAreTakenBackAndKeptNoLonger) {
  const PolicyConfig config = careful(LearnedMoves::kStay);
  const std::vector<std::byte> bad = careful(LearnedMoves::kDown).weights;
  ASSERT_TRUE(KeptWeights(kept_of(config)).keep(bad).ok());
  Simulated run(config);
  EXPECT_EQ(run.learnt()["weights"], weights_hash(bad));
  run.run(300);
  EXPECT_EQ(run.learnt()["rollbacks"], 1);
  EXPECT_EQ(run.learnt()["weights"], weights_hash(config.weights));
  EXPECT_TRUE(KeptWeights(kept_of(config)).latest().empty());
  EXPECT_THAT(run.log(), HasSubstr("are taken back, the judge has thrown the policy out"));
  EXPECT_GE(run.plant->settings()[KnobId::kWorkers], 7);
}

TEST_F(LiveLearning, WhatIsKeptOfSomethingElseIsLeftAlone) {
  const PolicyConfig config = in_the_loop();
  const KeptWeights folder(kept_of(config));
  ASSERT_TRUE(folder.keep(wanting(default_shape(8), LearnedMoves::kDown)).ok());
  EXPECT_EQ(Simulated(config).learnt()["weights"], weights_hash(config.weights));
  const std::vector<std::byte> garbage(100, std::byte{1});
  ASSERT_TRUE(folder.keep(garbage).ok());
  EXPECT_EQ(Simulated(config).learnt()["weights"], weights_hash(config.weights));
}

TEST_F(LiveLearning, AFolderThatCannotBeWrittenIsToldAndLearningGoesOn) {
  PolicyConfig config = in_the_loop();
  config.keep_in = "/proc/none/of/this";
  Simulated run(config);
  run.run(400);
  EXPECT_EQ(run.learnt()["kept"], 0);
  EXPECT_THAT(run.learnt()["trouble"].get<std::string>(), HasSubstr("could not be kept"));
  EXPECT_THAT(run.log(), HasSubstr("what was learnt could not be kept"));
  EXPECT_GE(run.learnt()["renewals"], 3);
}

TEST_F(LiveLearning, ATraceReplaysAcrossSwapsOfWeights) {
  Simulated run(in_the_loop(LearnedMoves::kUp));
  run.run(30);
  Recording recording;
  const std::string path = root / "run.trace";
  ASSERT_TRUE(recording.begin(path, "{}", &run.client).ok());
  run.run(300);
  const int renewals = run.learnt()["renewals"];
  recording.end(&run.client);
  ASSERT_GE(renewals, 2);
  const auto replayed = [&] {
    auto reader = trace::TraceReader::open(path);
    return trace::replay(**reader, root);
  };
  const auto done = replayed();
  ASSERT_TRUE(done.ok()) << done.error().to_string();
  EXPECT_EQ(done->first_difference, "");
  EXPECT_EQ(done->equal, done->decisions);
  EXPECT_GT(done->decisions, 400U);
  fs::remove(root / (run.learnt()["weights"].get<std::string>() + ".weights"));
  EXPECT_EQ(replayed().error().code, ErrorCode::kNotFound);
  EXPECT_THAT(replayed().error().message, HasSubstr("to lie beside it"));
}

TEST_F(LiveLearning, StepsWithFaultsAndBudgetsAreLeftOut) {
  const PolicyConfig config = careful(LearnedMoves::kUp);
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, *make_policy(config), nullptr, config);
  const auto run = [&](int decisions) {
    for (int i = 0; i < decisions; ++i) {
      plant->run(10, 50);
      client.tick(plant->clock());
    }
  };
  run(10);
  EXPECT_EQ(client.learning()["left_out"]["fault"], 0);
  plant->observe_throws = true;
  run(2);
  plant->observe_throws = false;
  run(2);
  EXPECT_GE(client.learning()["left_out"]["fault"], 2);
  EXPECT_EQ(client.learning()["left_out"]["budget"], 0);
  run(20);
  plant->limit_workers(2);
  run(3);
  EXPECT_GE(client.learning()["left_out"]["budget"], 1);
}

TEST_F(LiveLearning, SettingsOfTheFallbackAreNotLearntFrom) {
  Simulated run(careful(LearnedMoves::kDown, /*falls_back=*/true));
  run.run(60);
  EXPECT_GE(run.learnt()["left_out"]["fallback"], 20);
  EXPECT_GE(run.learnt()["steps"], 5);
  EXPECT_THAT(run.log(), HasSubstr("its moves were slower"));
}

TEST_F(LiveLearning, OtherThreadsMayLookAndFreezeMeanwhile) {
  const PolicyConfig config = in_the_loop();
  const auto plant = std::make_shared<FakePlant>(/*live=*/true);
  const auto client = std::make_shared<Client>(plant, *make_policy(config), nullptr, config);
  Controller controller({.tick = std::chrono::milliseconds(1)});
  controller.add(client);
  for (int i = 0; i < 100; ++i) {
    static_cast<void>(client->learning().dump());
    if (i % 10 == 0) client->freeze();
    if (i % 10 == 5) client->unfreeze();
    if (i == 50) client->swap(*make_policy(config), config);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  controller.remove(client);
  EXPECT_EQ(client->log().stop_reason(), "");
}

TEST(LivePolicies, ThatDoNotLearnAreNamed) {
  const auto refused = [](const std::string& name) {
    const auto policy = make_policy({.name = name, .learn = true});
    return policy.ok() ? "made" : policy.error().message;
  };
  EXPECT_THAT(refused("initial"), HasSubstr("policy initial does not go on learning: learn=True is for ppo, sac"));
  EXPECT_THAT(refused("cql"), HasSubstr("policy cql does not go on learning"));
  EXPECT_THAT(refused("ppo"), HasSubstr("has no weights of its own"));
}

}  // namespace
}  // namespace drapps
