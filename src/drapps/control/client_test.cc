#include "drapps/control/client.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drapps/control/fake_plant_test.h"
#include "drapps/control/fewer_test.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/policies_test.h"

namespace drapps {
namespace {

struct Throws17 final : Policy {
  std::string_view name() const noexcept override { return "17"; }
  Settings decide(const Observation&, PolicyState&) const override { throw 17; }
};

int decisions(const Client& client) { return client.log().to_json()["totals"]["decisions"]; }

std::int32_t workers(const FakePlant& plant) { return plant.settings()[KnobId::kWorkers]; }

TEST(Client, BringsAProposalThroughTheGuardToThePlant) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Fewer>());
  std::vector<std::int32_t> seen;
  for (int i = 0; i < 5; ++i) {
    plant->run(10, 50);
    client.tick(plant->clock());
    seen.push_back(workers(*plant));
  }
  EXPECT_EQ(seen, (std::vector<std::int32_t>{6, 6, 4, 4, 3}));
}

TEST(Client, ObeysLimitsThatChange) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Initial>());
  std::vector<std::int32_t> seen;
  const auto run = [&](int decisions) {
    for (int i = 0; i < decisions; ++i) {
      plant->run(10, 50);
      client.tick(plant->clock());
      seen.push_back(workers(*plant));
    }
  };
  run(1);
  plant->limit_workers(2);
  run(1);
  plant->limit_workers(4);
  run(5);
  EXPECT_EQ(seen, (std::vector<std::int32_t>{8, 2, 2, 3, 3, 4, 4}));
}

TEST(Client, DecidesNotBeforeHalfASecondAndFourBatches) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Fewer>());
  plant->run(10, 49);
  client.tick(plant->clock());
  EXPECT_EQ(decisions(client), 0);
  plant->run(1, 10);
  client.tick(plant->clock());
  EXPECT_EQ(decisions(client), 1);
  plant->run(3, 1000);
  client.tick(plant->clock());
  EXPECT_EQ(decisions(client), 1);
  plant->run(1, 1000);
  client.tick(plant->clock());
  EXPECT_EQ(decisions(client), 2);
}

TEST(Client, RawPolicyJumpsAtEveryTickWithinTheBudget) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<RandomWalk>(5, true));
  for (int i = 0; i < 100; ++i) {
    client.tick(plant->clock());
    ASSERT_EQ(fit_settings(plant->settings(), plant->limits()), plant->settings());
  }
  EXPECT_GT(plant->applied, 90);
}

TEST(Client, FrozenMovesNothingUntilUnfrozen) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Fewer>());
  client.freeze();
  EXPECT_EQ(client.log().to_json()["status"], "frozen");
  for (int i = 0; i < 5; ++i) {
    plant->run(10, 100);
    client.tick(plant->clock());
  }
  EXPECT_EQ(plant->applied, 0);
  client.unfreeze();
  client.tick(plant->clock());
  EXPECT_EQ(plant->applied, 1);
  EXPECT_EQ(client.log().to_json()["status"], "running");
}

TEST(Client, ThrowingPolicyStopsControlAndLeavesTheKnobs) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Faulty>());
  const Settings before = plant->settings();
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(client.log().stop_reason(), i < 2 ? "" : "control stopped: injected fault");
    plant->run(10, 100);
    client.tick(plant->clock());
  }
  const int observed = plant->observed;
  client.tick(plant->clock());
  EXPECT_EQ(plant->observed, observed);
  EXPECT_EQ(plant->settings(), before);
  EXPECT_EQ(client.log().to_json()["status"], "stopped");
  EXPECT_EQ(client.log().to_json()["stop_reason"], "control stopped: injected fault");
}

TEST(Client, HoldsWhileThePlantShowsNothingAndSaysSoOnce) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Fewer>());
  plant->observe_throws = true;
  for (int i = 0; i < 3; ++i) {
    plant->run(10, 100);
    client.tick(plant->clock());
  }
  EXPECT_EQ(workers(*plant), 8);
  const auto log = client.log().to_json();
  ASSERT_EQ(log["entries"].size(), 1u) << log.dump();
  EXPECT_EQ(log["entries"][0]["why"], "the knobs stay where they are: the observation is missing");
  plant->observe_throws = false;
  for (int i = 0; i < 5; ++i) {
    plant->run(10, 100);
    client.tick(plant->clock());
  }
  EXPECT_LT(workers(*plant), 8);
  EXPECT_EQ(client.log().stop_reason(), "");
}

TEST(Client, AnotherPolicyBeginsAnewBehindTheSameGuard) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Faulty>(7));
  for (int i = 0; i < 6; ++i) {
    plant->run(10, 100);
    client.tick(plant->clock());
  }
  client.swap(std::make_unique<Fewer>());
  plant->run(10, 100);
  client.tick(plant->clock());
  EXPECT_EQ(workers(*plant), 6);
  client.swap(std::make_unique<Fewer>());
  plant->run(10, 50);
  client.tick(plant->clock());
  EXPECT_EQ(workers(*plant), 6) << "the guard has forgotten that the knob rests";
  client.swap(std::make_unique<Faulty>(7));  // it counts from one
  plant->run(10, 100);
  client.tick(plant->clock());
  const auto log = client.log().to_json();
  EXPECT_EQ(log["policy"], "faulty");
  EXPECT_EQ(log["status"], "running");
  EXPECT_EQ(log["totals"]["decisions"], 9);
  std::vector<std::string> remarks;
  for (const auto& entry : log["entries"]) {
    const auto why = entry["why"].get<std::string>();
    if (entry["knob"].is_null() && why.starts_with("policy ")) remarks.push_back(why);
  }
  EXPECT_EQ(remarks, (std::vector<std::string>{"policy fewer follows faulty", "policy fewer follows fewer",
                                               "policy faulty follows fewer"}));
}

TEST(Client, GoesOnWithAnotherPolicyWhereOneHasThrown) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Faulty>(1));
  plant->run(10, 100);
  client.tick(plant->clock());
  EXPECT_EQ(client.log().stop_reason(), "control stopped: injected fault");
  client.swap(std::make_unique<Fewer>());
  EXPECT_EQ(client.log().stop_reason(), "");
  EXPECT_EQ(client.log().to_json()["entries"].back()["why"],
            "policy fewer follows faulty (control stopped: injected fault)");
  plant->run(10, 100);
  client.tick(plant->clock());
  EXPECT_EQ(workers(*plant), 6);
}

TEST(Client, NoPolicyGoesOnWhereTheControlPlaneHasEnded) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Fewer>());
  client.stop("the loop broke");
  client.swap(std::make_unique<Fewer>());
  plant->run(10, 100);
  client.tick(plant->clock());
  EXPECT_EQ(client.log().stop_reason(), "control stopped: the loop broke");
  EXPECT_EQ(workers(*plant), 8);
}

TEST(Client, AFrozenOneStaysSoUnderAnotherPolicy) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Initial>());
  client.freeze();
  client.swap(std::make_unique<Fewer>());
  plant->run(10, 100);
  client.tick(plant->clock());
  EXPECT_EQ(workers(*plant), 8);
  client.unfreeze();
  client.tick(plant->clock());
  EXPECT_EQ(workers(*plant), 6);
}

TEST(Client, ThrowingPlantAndStrangeExceptionsStopItToo) {
  const auto plant = std::make_shared<FakePlant>();
  plant->apply_throws = true;
  Client refused(plant, std::make_unique<Fewer>());
  Client strange(plant, std::make_unique<Throws17>());
  plant->run(10, 100);
  refused.tick(plant->clock());
  strange.tick(plant->clock());
  EXPECT_EQ(refused.log().stop_reason(), "control stopped: the plant refused");
  EXPECT_EQ(strange.log().stop_reason(), "control stopped: an unknown exception");
}

TEST(Client, HoldsOnStaleObservations) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Fewer>());
  plant->run(10, 100);
  client.tick(plant->clock(3'000'000'000));
  EXPECT_EQ(plant->applied, 0);
  const auto entries = client.log().to_json()["entries"];
  ASSERT_EQ(entries.size(), 1u);
  EXPECT_EQ(entries[0]["held"], "the signals are stale");
}

TEST(Client, LeavesAFinishedPlantAloneAndGoesOnWhereItStood) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Fewer>());
  std::vector<std::int32_t> seen;
  for (int pass = 0; pass < 5; ++pass) {
    const std::int32_t before = workers(*plant);
    plant->run(10, 50);
    plant->change([](Observation& now) { now.finished = true; });
    client.tick(plant->clock());
    EXPECT_EQ(workers(*plant), before);
    plant->change([](Observation& now) { now.finished = false; });
    client.tick(plant->clock());
    seen.push_back(workers(*plant));
  }
  EXPECT_EQ(seen, (std::vector<std::int32_t>{6, 6, 4, 4, 3}));
}

TEST(Client, PassesTooShortForADecisionAddUp) {
  const auto plant = std::make_shared<FakePlant>();
  Client client(plant, std::make_unique<Fewer>());
  for (std::uint32_t epoch = 0; epoch < 100; ++epoch) {
    client.begin_epoch(epoch);
    plant->run(2, 100);
    client.tick(plant->clock());
  }
  EXPECT_EQ(decisions(client), 33);
  EXPECT_EQ(workers(*plant), 1);
  EXPECT_EQ(client.log().to_json()["entries"][0]["epoch"], 2);
}

/// Keeps what it was shown, and says that it does `trying`.
struct Watcher final : Policy {
  struct Seen {
    Turn turn = Turn::kOpen;
    double cpus = 0;
    Trying trying = Trying::kNot;
  };
  explicit Watcher(Seen& seen) : seen_(seen) {}
  std::string_view name() const noexcept override { return "watcher"; }
  Settings decide(const Observation& observation, PolicyState& state) const override {
    seen_.turn = observation.turn;
    seen_.cpus = state.limits.cpus;
    state.trying = seen_.trying;
    return observation.settings;
  }
  Seen& seen_;
};

TEST(Client, TakesTurnsWithOthersAndLeavesThemTheCoresThatItDoesNotNeed) {
  Shares shares;
  Watcher::Seen first, second;
  const auto busy = std::make_shared<FakePlant>();
  const auto waiting = std::make_shared<FakePlant>();
  Client one(busy, std::make_unique<Watcher>(first), &shares);
  auto two = std::make_unique<Client>(waiting, std::make_unique<Watcher>(second), &shares);
  const auto run = [&] {
    for (int i = 0; i < 4; ++i) {
      for (const auto& plant : {busy, waiting}) plant->run(10, 50);
      busy->change([](Observation& seen) { seen.lanes[0].service_cpu.sum += 500'000'000; });
      waiting->change([](Observation& seen) { seen.consumer.stall.sum += 400'000'000; });
      one.tick(busy->clock());
      if (two) two->tick(waiting->clock());
    }
  };
  busy->limit_cores(4);
  waiting->limit_cores(4);
  run();
  EXPECT_NEAR(second.cpus, 3, 0.01);
  EXPECT_EQ(first.cpus, 2);

  first.trying = Trying::kTries;
  second.trying = Trying::kWaits;
  run();
  EXPECT_EQ(first.turn, Turn::kAsked);
  EXPECT_EQ(second.turn, Turn::kTaken);
  one.freeze();  // still uses what it used, but tries nothing
  run();
  EXPECT_EQ(second.turn, Turn::kOpen);
  EXPECT_NEAR(second.cpus, 3, 0.01);
  one.unfreeze();
  run();
  EXPECT_EQ(second.turn, Turn::kTaken);
  one.stop("enough");
  run();
  EXPECT_EQ(second.turn, Turn::kOpen);
  EXPECT_EQ(second.cpus, 4);
}

}  // namespace
}  // namespace drapps
