#include "drapps/control/controller.h"

#include <gtest/gtest.h>

#include <future>
#include <nlohmann/json.hpp>
#include <thread>

#include "drapps/control/fake_plant_test.h"
#include "drapps/policy/policies_test.h"

namespace drapps {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

const Controller::ControllerOptions kQuick{.tick = 1ms};

/// Waits until `condition` holds; false after a time that only a hang reaches.
template <class Condition>
bool eventually(Condition condition) {
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(1ms);
  }
  return true;
}

std::shared_ptr<Client> random_client(const std::shared_ptr<FakePlant>& plant, std::uint64_t seed = 1) {
  return std::make_shared<Client>(plant, std::make_unique<RandomWalk>(seed, true));
}

TEST(Controller, ServesSeveralClients) {
  Controller controller(kQuick);
  const auto one = std::make_shared<FakePlant>(true);
  const auto two = std::make_shared<FakePlant>(true);
  controller.add(random_client(one));
  controller.add(random_client(two));
  EXPECT_TRUE(eventually([&] { return one->applied > 10 && two->applied > 10; }));
}

TEST(Controller, WithoutClientsItEnds) {
  {
    const Controller controller;
  }
  Controller controller(kQuick);
  const auto plant = std::make_shared<FakePlant>(true);
  const auto client = random_client(plant);
  controller.add(client);
  controller.remove(client);
}

TEST(Controller, AClientStaysUntilItWasRemovedAsOftenAsItWasAdded) {
  Controller controller(kQuick);
  const auto plant = std::make_shared<FakePlant>(true);
  const auto client = random_client(plant);
  const auto ticked = [&, plant] {
    const int applied = plant->applied;
    return eventually([&] { return plant->applied > applied; });
  };
  controller.add(client);
  controller.add(client);
  controller.remove(client);
  EXPECT_TRUE(ticked());
  controller.remove(client);
  ASSERT_TRUE(eventually([&] { return client.use_count() == 1; }));
  controller.add(client);
  EXPECT_TRUE(ticked());
}

TEST(Controller, RemovalWaitsForNoTickThatIsUnderWay) {
  std::promise<void> open;
  std::promise<void> entered;
  const auto opened = open.get_future().share();
  const auto plant = std::make_shared<FakePlant>(true);
  const auto client = random_client(plant);
  plant->gate = [&, first = true]() mutable {
    if (std::exchange(first, false)) {
      entered.set_value();
      opened.wait();
    }
  };
  Controller controller(kQuick);
  controller.add(client);
  entered.get_future().wait();
  controller.remove(client);  // returns although the plant is being observed
  open.set_value();
  ASSERT_TRUE(eventually([&] { return client.use_count() == 1; }));
  const int observed = plant->observed;
  std::this_thread::sleep_for(10ms);
  EXPECT_EQ(plant->observed, observed);
}

TEST(Controller, FaultyPolicyStopsItsOwnClientOnly) {
  Controller controller(kQuick);
  const auto good = std::make_shared<FakePlant>(true);
  const auto bad = std::make_shared<FakePlant>(true);
  const auto stopped = std::make_shared<Client>(bad, std::make_unique<Faulty>(1));
  controller.add(stopped);
  controller.add(random_client(good));
  ASSERT_TRUE(eventually([&] { return !stopped->log().stop_reason().empty(); }));
  EXPECT_EQ(stopped->log().stop_reason(), "control stopped: injected fault");
  const int applied = good->applied;
  EXPECT_TRUE(eventually([&] { return good->applied > applied + 5; }));
}

TEST(Controller, FailureOfTheLoopIsToldInEveryLog) {
  std::atomic<bool> fail = false;
  Controller controller({.tick = 1ms, .before_tick = [&] {
                           if (fail) throw std::runtime_error("the loop broke");
                         }});
  const auto plant = std::make_shared<FakePlant>(true);
  const auto one = random_client(plant);
  const auto two = random_client(plant);
  controller.add(one);
  controller.add(two);
  ASSERT_TRUE(eventually([&] { return plant->applied > 3; }));
  fail = true;
  ASSERT_TRUE(eventually([&] { return !one->log().stop_reason().empty() && !two->log().stop_reason().empty(); }));
  EXPECT_EQ(two->log().stop_reason(), "control stopped: the loop broke");
  const auto late = random_client(plant);
  controller.add(late);
  EXPECT_EQ(late->log().stop_reason(), "control stopped: the loop broke");
  controller.remove(one);
}

TEST(Controller, NothingMovesOnceFreezeReturned) {
  Controller controller(kQuick);
  const auto plant = std::make_shared<FakePlant>(true);
  const auto client = random_client(plant);
  controller.add(client);
  for (int i = 0; i < 20; ++i) {
    const int before = plant->applied;
    ASSERT_TRUE(eventually([&] { return plant->applied > before; }));
    client->freeze();
    const int frozen = plant->applied;
    std::this_thread::sleep_for(3ms);
    ASSERT_EQ(plant->applied, frozen);
    client->unfreeze();
  }
}

TEST(Controller, PoliciesAreSwappedWhileTheyDecide) {
  Controller controller(kQuick);
  const auto plant = std::make_shared<FakePlant>(true);
  const auto client = random_client(plant);
  controller.add(client);
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&client, t] {
      for (int i = 0; i < 50; ++i) {
        if (t == 0) client->swap(std::make_unique<Faulty>(1));
        if (t == 1) client->swap(std::make_unique<RandomWalk>(3, true));
        if (t == 2) client->log().to_json();
        std::this_thread::sleep_for(1ms);
      }
    });
  }
  threads.clear();
  client->swap(std::make_unique<RandomWalk>(4, true));
  const int before = plant->applied;
  EXPECT_TRUE(eventually([&] { return plant->applied > before + 2; }));
  EXPECT_EQ(client->log().stop_reason(), "");
  controller.remove(client);
}

TEST(Controller, ClientsComeAndGoWhileTheirLogsAreRead) {
  Controller controller(kQuick);
  std::vector<std::jthread> threads;
  for (std::uint64_t t = 0; t < 4; ++t) {
    threads.emplace_back([&controller, t] {
      for (int i = 0; i < 20; ++i) {
        const auto plant = std::make_shared<FakePlant>(true);
        const auto client = random_client(plant, t);
        controller.add(client);
        eventually([&] { return plant->applied > 2; });
        EXPECT_EQ(client->log().to_json()["policy"], "random_raw");
        controller.remove(client);
      }
    });
  }
}

TEST(Controller, GuardsALivePlantOnTheSteadyClock) {
  Controller controller(kQuick);
  const auto plant = std::make_shared<FakePlant>(true);
  const auto client = std::make_shared<Client>(plant, std::make_unique<RandomWalk>(1));
  controller.add(client);
  ASSERT_TRUE(eventually([&] { return plant->applied >= 2; }));
  const auto log = client->log().to_json();
  for (const auto& entry : log["entries"]) {
    EXPECT_NE(entry["held"], "the signals are stale");
    EXPECT_NE(entry["held"], "the signals are broken");
  }
}

}  // namespace
}  // namespace drapps
