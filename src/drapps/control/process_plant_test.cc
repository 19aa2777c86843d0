#include "drapps/control/process_plant.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <thread>

#include "drapps/base/clock.h"
#include "drapps/base/machine.h"
#include "drapps/control/process_control.h"
#include "drapps/worker/board_client.h"

namespace drapps {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kMs = 1'000'000;

/// A pass whose processes are this one: its CPU time is theirs.
struct Pass {
  explicit Pass(std::int32_t processes, ScalingMode scaling = ScalingMode::kFree)
      : board(*Board::make(8, 8, std::uint64_t{16} << 20)) {
    plant.attach(board, processes);
    for (std::int32_t i = 0; i < processes; ++i) join();
    plant.set_scaling(scaling, 8);
  }
  void join() {
    numbers.push_back(*board->enlist());
    clients.push_back(*BoardClient::attach(board->memory(), numbers.back()));
    plant.joined(numbers.back(), getpid());
  }
  void apply(std::int32_t processes) {
    Settings settings = plant.observe().settings;
    settings[KnobId::kProcesses] = processes;
    plant.apply(settings);
  }
  bool ends(std::size_t i) { return clients[i]->next(milliseconds(0), false)->kind == Work::WorkKind::kStop; }

  ProcessPlant plant{Engine::get()};
  std::shared_ptr<Board> board;
  std::vector<std::uint32_t> numbers;
  std::vector<std::unique_ptr<BoardClient>> clients;
};

TEST(ProcessPlant, WhatTheProcessesShareIsBookedUntilThePassEnds) {
  const MemoryLedger& processes = Engine::get().memory(MemoryUse::kProcesses);
  Pass pass(1);
  pass.plant.observe();
  const std::size_t empty = processes.used();
  const std::vector<std::byte> input(std::size_t{4} << 20, std::byte{1});
  ASSERT_TRUE(pass.board->publish({input}, {}).ok());
  EXPECT_GE(pass.plant.observe().memory_used, input.size());
  EXPECT_GE(processes.used(), empty + input.size());
  EXPECT_EQ(Engine::get().memory().used(), processes.used());
  pass.plant.detach(*pass.board);
  EXPECT_EQ(processes.used(), 0u);
}

/// Keeps a core busy.
void work(milliseconds time) {
  const std::uint64_t until = process_cpu_ns() + static_cast<std::uint64_t>(time.count()) * kMs;
  while (process_cpu_ns() < until) {
  }
}

void make_a_batch(Pass& pass, std::size_t client) {
  const auto ticket = pass.board->publish({}, {});
  ASSERT_TRUE(ticket.ok() && ticket->has_value());
  const Work task = *pass.clients[client]->next(milliseconds(0), false);
  ASSERT_EQ(task.ticket, **ticket);
  ASSERT_TRUE(pass.clients[client]->deliver(task.ticket, 0, {}).ok());
  ASSERT_TRUE(pass.board->take(task.ticket).ok());
}

TEST(ProcessPlant, ACutIsObeyedWithoutTheConsumer) {
  Pass pass(4);
  pass.apply(1);
  EXPECT_FALSE(pass.ends(0));
  for (const std::size_t i : {1, 2, 3}) EXPECT_TRUE(pass.ends(i)) << i;
  EXPECT_EQ(pass.plant.take_retired(), (std::vector<std::uint32_t>{3, 2, 1}));
  EXPECT_TRUE(pass.plant.take_retired().empty());
  EXPECT_EQ(pass.plant.observe().processes.leaving, 3);
  for (const std::uint32_t number : {3, 2, 1}) pass.plant.left(number);
  EXPECT_EQ(pass.plant.observe().processes.leaving, 0);
  pass.apply(0);
  EXPECT_FALSE(pass.ends(0)) << "never none stays";
}

TEST(ProcessPlant, WhereWorkersAreBoundTheConsumerMovesThemFirst) {
  Pass pass(3, ScalingMode::kMigrating);
  pass.apply(1);
  for (const std::size_t i : {0, 1, 2}) EXPECT_FALSE(pass.ends(i)) << i;
  EXPECT_EQ(pass.plant.processes(), 1);
  EXPECT_EQ(pass.plant.observe().processes.leaving, 2);
}

TEST(ProcessPlant, LimitsSayHowTheNumberMayChange) {
  Pass pass(3);
  EXPECT_EQ(pass.plant.limits()[KnobId::kProcesses], (Bounds{1, 8}));
  EXPECT_EQ(pass.plant.limits()[KnobId::kWorkers], (Bounds{0, 0}));
  EXPECT_EQ(pass.plant.limits().cpus, Engine::get().cpu_budget());
  pass.plant.set_scaling(ScalingMode::kFixed, 8);
  EXPECT_EQ(pass.plant.limits()[KnobId::kProcesses], (Bounds{3, 3}));
  pass.plant.set_scaling(ScalingMode::kFree, 2);
  EXPECT_EQ(pass.plant.limits()[KnobId::kProcesses], (Bounds{1, 3})) << "those that are there may stay";
}

TEST(ProcessPlant, ProcessesAreStartingUntilTheyHaveMadeSomething) {
  Pass pass(2);
  pass.apply(3);
  EXPECT_EQ(pass.plant.observe().processes.starting, 3) << "two have made nothing, one is not there";
  make_a_batch(pass, 0);
  EXPECT_EQ(pass.plant.observe().processes.starting, 2);
  make_a_batch(pass, 1);
  EXPECT_EQ(pass.plant.observe().processes.starting, 1);
  pass.join();
  make_a_batch(pass, 2);
  EXPECT_EQ(pass.plant.observe().processes.starting, 0);
}

TEST(ProcessPlant, WhatWasMadeBeforeTheFirstLookIsNotCounted) {
  Pass pass(1);
  make_a_batch(pass, 0);
  const ProcessObservation first = pass.plant.observe().processes;
  EXPECT_EQ(first.output, 0u);
  EXPECT_EQ(first.demand_ns, 0u);
  make_a_batch(pass, 0);
  work(milliseconds(20));
  const Observation seen = pass.plant.observe();
  const ProcessObservation& then = seen.processes;
  EXPECT_EQ(then.output, 1u);
  EXPECT_EQ(seen.samples, 1u);
  EXPECT_GE(then.demand_ns, 20 * kMs);
  pass.plant.left(pass.numbers[0]);
  work(milliseconds(5));
  EXPECT_EQ(pass.plant.observe().processes.demand_ns, then.demand_ns);
}

TEST(ProcessPlant, CoresThatHaveNothingToDoAreCounted) {
  if (idle_cpu_ns() == 0) GTEST_SKIP() << "this machine does not say how long its cores had nothing to do";
  Pass pass(1);
  const std::uint64_t machine = idle_cpu_ns();
  const Observation then = pass.plant.observe();
  // Asleep until some core was, too: others may keep all of them busy for a while.
  Observation now = then;
  for (int i = 0; i < 600 && now.processes.idle_cores_ns == then.processes.idle_cores_ns; ++i) {
    std::this_thread::sleep_for(milliseconds(100));
    now = pass.plant.observe();
  }
  if (now.processes.idle_cores_ns == then.processes.idle_cores_ns && idle_cpu_ns() == machine) {
    GTEST_SKIP() << "others have kept all cores busy for a minute";
  }
  const auto most = (now.time_ns - then.time_ns) * std::thread::hardware_concurrency() + 1'000 * kMs;
  EXPECT_GT(now.processes.idle_cores_ns, then.processes.idle_cores_ns);
  EXPECT_LE(now.processes.idle_cores_ns - then.processes.idle_cores_ns, most);
}

TEST(ProcessPlant, AWaitCountsWhileItLasts) {
  Pass pass(1);
  pass.plant.asks();
  pass.plant.waits();
  std::this_thread::sleep_for(milliseconds(20));
  const std::uint64_t during = pass.plant.observe().consumer.stall.sum;
  EXPECT_GE(during, 20 * kMs);
  std::this_thread::sleep_for(milliseconds(10));
  pass.plant.waited();
  pass.plant.gives();
  const Observation after = pass.plant.observe();
  EXPECT_GE(after.consumer.stall.sum, 30 * kMs);
  EXPECT_EQ(after.consumer.stall.count, 1u);
  EXPECT_EQ(after.batches, 1u);
  EXPECT_EQ(after.consumer.step.count, 0u) << "the first batch of a pass ends no step";
  std::this_thread::sleep_for(milliseconds(10));
  EXPECT_EQ(pass.plant.observe().consumer.stall.sum, after.consumer.stall.sum);
  pass.plant.asks();
  std::this_thread::sleep_for(milliseconds(10));
  pass.plant.gives();
  const ConsumerObservation second = pass.plant.observe().consumer;
  EXPECT_GE(second.step.sum, 40 * kMs);
  EXPECT_EQ(second.passes, 1u);
  EXPECT_GE(second.helped_ns, 10 * kMs) << "it waited for no process";
  EXPECT_EQ(second.stall.count, 2u);
}

TEST(ProcessPlant, AnObservationBetweenTheEndOfAPassAndThatOfItsProcessesChangesNothing) {
  Pass pass(2);
  pass.plant.detach(*pass.board);
  pass.plant.observe();
  EXPECT_TRUE(pass.plant.worker_pids().empty());
  pass.plant.left(pass.numbers[0]);
  pass.plant.joined(5, getpid());  // one that was started late
  pass.plant.observe();
  pass.plant.left(5);
  pass.plant.left(pass.numbers[1]);
  EXPECT_EQ(pass.plant.stats().workers.workers, 0u);
}

TEST(ProcessPlant, CountersOutlivePasses) {
  Pass pass(1);
  pass.plant.asks();
  pass.plant.gives();
  pass.plant.detach(*pass.board);
  EXPECT_TRUE(pass.plant.observe().finished);
  const std::shared_ptr<Board> next = *Board::make(8, 8, std::uint64_t{16} << 20);
  pass.plant.attach(next, 2);
  pass.plant.asks();
  pass.plant.gives();
  const Observation seen = pass.plant.observe();
  EXPECT_FALSE(seen.finished);
  EXPECT_EQ(seen.batches, 2u);
  EXPECT_EQ(seen.settings[KnobId::kProcesses], 2);
  pass.plant.detach(*pass.board);
  EXPECT_FALSE(pass.plant.observe().finished) << "another pass has begun since";
}

TEST(ProcessControl, IsUnderControlWhileItIsAttached) {
  auto control = *ProcessControl::make({.name = "trials"});
  const std::shared_ptr<Board> board = *Board::make(8, 8, std::uint64_t{16} << 20);
  control->attach(board, 3);
  const auto decisions = [&] { return control->control().log()["totals"]["decisions"].get<int>(); };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (decisions() == 0 && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(milliseconds(20));
  }
  EXPECT_GT(decisions(), 0);
  control->detach(*board);
}

TEST(ProcessControl, AnUnknownPolicyIsRefused) { EXPECT_FALSE(ProcessControl::make({.name = "dice"}).ok()); }

}  // namespace
}  // namespace drapps
