#include "drapps/policy/trials.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace drapps {
namespace {

using Moves = std::vector<std::pair<std::int32_t, std::int32_t>>;

/// Processes and a consumer: the time that passes makes samples. n working processes use cores_of(n) cores, and each
/// core makes 1000 samples a second.
struct ProcessModel {
  explicit ProcessModel(std::function<double(double)> use, std::int32_t processes = 2) : cores_of(std::move(use)) {
    state.limits.cpus = 2;
    state.limits[KnobId::kProcesses] = {1, 1000};
    seen.time_ns = 100'000'000'000;
    seen.settings[KnobId::kProcesses] = processes;
    ready_at.assign(static_cast<std::size_t>(processes), 0);
  }

  void run(double seconds) {
    for (int i = 0; i < static_cast<int>(seconds * 20 + 0.5); ++i) step(0.05);
  }
  /// The consumer does something else, and the processes fill the queue and stop.
  void pause(double seconds) {
    seen.time_ns += ns(seconds);
    ++seen.processes.idle;
  }

  static std::uint64_t ns(double seconds) { return static_cast<std::uint64_t>(seconds * 1e9); }
  std::int32_t processes() const { return seen.settings[KnobId::kProcesses]; }

  void step(double dt) {
    seen.time_ns += ns(dt);
    seen.consumer.stall.sum += ns(waited * dt);
    const auto working = std::ranges::count_if(ready_at, [&](std::uint64_t at) { return at < seen.time_ns; });
    const double cores = cores_of(static_cast<double>(working));
    output += std::max(0.0, cores * 1000 * dt * (1 + noise * std::normal_distribution<>()(random)));
    seen.processes.output = static_cast<std::uint64_t>(output);
    seen.processes.demand_ns += ns(cores * dt);
    seen.processes.idle_cores_ns += ns(std::max(0.0, idle_of(cores)) * dt);
    seen.processes.starting = static_cast<std::int32_t>(ready_at.size()) - static_cast<std::int32_t>(working);
    seen.processes.leaving = ends_at > seen.time_ns ? 1 : 0;
    if (seen.time_ns - decided_ns < 250'000'000) return;
    decided_ns = seen.time_ns;
    const std::int32_t target =
        std::clamp(Trials().decide(seen, state)[KnobId::kProcesses], 1, state.limits[KnobId::kProcesses].high);
    if (!state.why.view().empty()) reasons.emplace_back(state.why.view());
    if (target == processes()) return;
    moves.emplace_back(processes(), target);
    if (target < processes()) ends_at = seen.time_ns + ns(end_s);
    ready_at.resize(static_cast<std::size_t>(target), seen.time_ns + ns(start_s));
    seen.settings[KnobId::kProcesses] = target;
  }

  std::function<double(double)> cores_of;
  std::function<double(double)> idle_of = [](double) { return 0; };  // of the cores used; 0 throughout: not said
  double waited = 1.0;
  double noise = 0;
  double start_s = 0;
  double end_s = 0;

  Observation seen;
  PolicyState state;
  Moves moves;
  std::vector<std::string> reasons;
  std::vector<std::uint64_t> ready_at;
  std::uint64_t ends_at = 0;
  std::uint64_t decided_ns = 0;
  double output = 0;
  std::mt19937 random{1};
};

double busy(double n) { return std::min(n, 2.0); }
double sleeping(double n) { return std::min(0.5 * n, 2.0); }
/// On two cores that others use too.
double crowded(double) { return 1.0; }

TEST(Trials, ProcessesThatSleepBecomeAsManyAsFillTheCores) {
  ProcessModel model(sleeping);
  model.run(20);
  EXPECT_EQ(model.moves, (Moves{{2, 4}}));
  EXPECT_NE(model.reasons[0].find("as many as fill the cores"), std::string::npos);
  EXPECT_NE(model.reasons[0].find("1.00 of 2.00 cores, 100 % waited"), std::string::npos);
}

TEST(Trials, TheFirstTrialIsOfAsManyAsFillTheCoresHoweverMany) {
  ProcessModel model([](double n) { return std::min(0.02 * n, 2.0); });
  model.run(20);
  ASSERT_FALSE(model.moves.empty());
  EXPECT_EQ(model.moves[0], std::pair(2, 100));
  EXPECT_GE(model.processes(), 100);
}

TEST(Trials, LaterOnesAreOfHalfAsManyAgain) {
  ProcessModel model([](double n) { return std::min(0.5 * n, 8.0); });
  model.run(10);
  model.state.limits.cpus = 8;
  model.run(30);
  ASSERT_GE(model.moves.size(), 3u);
  EXPECT_EQ(model.moves[0], std::pair(2, 4));
  EXPECT_EQ(model.moves[1], std::pair(4, 6));
  EXPECT_EQ(model.moves[2], std::pair(6, 9));
  EXPECT_GE(model.processes(), 15);
}

TEST(Trials, ProcessesThatFillTheCoresStayAsTheyAre) {
  ProcessModel model(busy);
  model.noise = 0.2;
  model.run(60);
  EXPECT_EQ(model.moves, Moves{});
}

TEST(Trials, OneProcessBecomesAsManyAsThereAreCores) {
  ProcessModel model(busy, 1);
  model.run(10);
  EXPECT_EQ(model.moves, (Moves{{1, 2}}));
}

TEST(Trials, CoresThatOthersUseAreTriedForEverMoreRarely) {
  ProcessModel model(crowded);
  model.noise = 0.05;
  model.run(150);
  EXPECT_EQ(model.processes(), 2);
  ASSERT_GE(model.moves.size(), 4u);
  EXPECT_LE(model.moves.size(), 10u);
  EXPECT_EQ(model.moves[0], std::pair(2, 4));
  EXPECT_EQ(model.moves[1], std::pair(4, 2));
  EXPECT_EQ(model.moves[2], std::pair(2, 3)) << "one jump in a loader's life";
  EXPECT_NE(model.reasons[1].find("more processes gain nothing"), std::string::npos);
}

TEST(Trials, SamplesThatBeginToWaitGetAFirstTrialAtOnce) {
  bool waits = false;
  ProcessModel model([&](double n) { return waits ? std::min(0.05 * n, 2.0) : busy(n); });
  model.run(20);
  EXPECT_EQ(model.moves, Moves{});
  waits = true;
  model.run(2);
  EXPECT_EQ(model.moves, (Moves{{2, 40}}));
  EXPECT_NE(model.reasons[0].find("samples wait for something else: 0.10 of 2.00 cores"), std::string::npos);
}

TEST(Trials, ATrialInWhichSamplesBeginToWaitSaysNothing) {
  bool waits = false;
  ProcessModel model([&](double n) { return waits ? std::min(0.05 * n, 2.0) : busy(n); }, 1);
  while (model.moves.empty()) model.step(0.05);
  waits = true;
  model.run(4);
  EXPECT_EQ(model.moves, (Moves{{1, 2}, {2, 1}, {1, 40}}));
}

TEST(Trials, ProcessesWhoseCoresOthersTakeBeginNothingAnew) {
  bool taken = false;
  ProcessModel model([&](double n) { return taken ? 0.5 : busy(n); });
  model.seen.processes.idle_cores_ns = 1;
  model.idle_of = [&](double) { return taken ? 0.0 : 0.1; };
  model.run(20);
  taken = true;
  model.run(20);
  EXPECT_EQ(model.moves, Moves{});
  EXPECT_EQ(model.reasons, std::vector<std::string>{});
}

TEST(Trials, SamplesThatWaitAgainAndAgainBeginEverMoreRarelyAnew) {
  bool waits = false;
  ProcessModel model([&](double n) { return waits ? std::min(0.05 * n, 0.5) : busy(n); });
  for (int i = 0; i < 40; ++i) {
    waits = i % 2 == 1;
    model.run(5);
  }
  const auto anew = std::ranges::count_if(
      model.reasons, [](const std::string& why) { return why.starts_with("samples wait for something else"); });
  EXPECT_GE(anew, 1);
  EXPECT_LE(anew, 4);
}

TEST(Trials, CoresThatOthersKeepBusyAreNoRoom) {
  ProcessModel model(crowded);
  model.seen.processes.idle_cores_ns = 1;
  model.run(60);
  EXPECT_EQ(model.moves, Moves{});
}

TEST(Trials, TheFirstTrialFillsWhatOthersLeave) {
  ProcessModel model([](double n) { return std::min(0.04 * n, 1.0); });
  model.seen.processes.idle_cores_ns = 1;
  model.idle_of = [](double cores) { return 1.0 - cores; };
  model.run(20);
  ASSERT_FALSE(model.moves.empty());
  EXPECT_EQ(model.moves[0], std::pair(2, 25));
}

TEST(Trials, ProcessesThatHardlyNeedACoreAreTriedOnABusyMachine) {
  ProcessModel model([](double n) { return 0.01 * n; });
  model.seen.processes.idle_cores_ns = 1;
  model.run(60);
  ASSERT_FALSE(model.moves.empty());
  EXPECT_EQ(model.moves[0], std::pair(2, 22)) << "a tenth of the budget besides";
}

TEST(Trials, AConsumerThatDoesNotWaitChangesNothing) {
  ProcessModel model(sleeping);
  model.waited = 0.05;
  model.run(20);
  EXPECT_EQ(model.moves, Moves{});
}

TEST(Trials, AsManyStayAsFillTheBudgetAlsoWhileNobodyWaits) {
  ProcessModel model([](double n) { return n; }, 4);
  model.state.limits.cpus = 1.5;
  model.waited = 0;
  model.run(10);
  EXPECT_EQ(model.moves, (Moves{{4, 2}}));
  EXPECT_NE(model.reasons[0].find("more processes than the cores"), std::string::npos);
}

TEST(Trials, NeverNoneStays) {
  ProcessModel model([](double n) { return n; }, 1);
  model.state.limits.cpus = 0.25;
  model.run(5);
  EXPECT_EQ(model.moves, Moves{});
}

TEST(Trials, OfATrialThatExceedsTheBudgetAsManyStayAsFit) {
  ProcessModel model([](double n) { return n < 9 ? 0.9 * n : 1.2 * n; }, 4);
  model.state.limits.cpus = 8;
  model.run(9);
  ASSERT_GE(model.moves.size(), 2u);
  EXPECT_EQ(model.moves[0], std::pair(4, 9));
  EXPECT_EQ(model.moves[1], std::pair(9, 7));
}

TEST(Trials, LimitsThatChangeAreObeyedAndNoted) {
  ProcessModel model([](double n) { return n; }, 4);
  model.state.limits.cpus = 4;
  model.run(3);
  model.state.limits.cpus = 1;
  model.run(2);
  EXPECT_EQ(model.moves, (Moves{{4, 1}}));
  EXPECT_EQ(std::ranges::count(model.reasons, "the limits have changed: 1.00 cores, 4.00 before"), 1);
}

TEST(Trials, ProcessesThatEndSlowlyAreNotTakenForThoseThatStay) {
  ProcessModel model([](double n) { return n; }, 8);
  model.end_s = 3;
  model.run(10);
  EXPECT_EQ(model.moves, (Moves{{8, 2}}));
}

TEST(Trials, ATrialOutlastsAPauseOfTheConsumer) {
  for (const double noise : {0.0, 0.3}) {
    ProcessModel model(sleeping);
    model.noise = noise;
    model.run(1);
    ASSERT_EQ(model.moves, (Moves{{2, 4}}));
    model.pause(60);
    model.run(8);
    EXPECT_EQ(std::ranges::count(model.moves, std::pair(4, 2)), 0) << noise;
  }
}

TEST(Trials, ProcessesThatHadNothingToDoAreNotTakenForTooFew) {
  ProcessModel model(sleeping);
  for (int i = 0; i < 100; ++i) {
    model.run(0.2);
    ++model.seen.processes.idle;
  }
  EXPECT_EQ(model.moves, Moves{});
}

TEST(Trials, ATrialWaitsForProcessesThatStartSlowlyButNotForEver) {
  ProcessModel slow(sleeping);
  slow.start_s = 5;
  slow.run(9);
  EXPECT_EQ(slow.moves, (Moves{{2, 4}})) << slow.reasons.back();
  ProcessModel never(sleeping);
  never.start_s = 1e9;
  never.run(38);
  ASSERT_EQ(never.moves.size(), 2u) << never.reasons.back();
  EXPECT_EQ(never.moves[1], std::pair(4, 2));
}

TEST(Trials, ACutDoesNotWaitForProcessesThatAreStillToCome) {
  ProcessModel model(sleeping);
  model.start_s = 1e9;
  model.run(1);
  ASSERT_EQ(model.moves, (Moves{{2, 4}}));
  model.state.limits.cpus = 0.25;
  model.run(1.5);
  EXPECT_EQ(model.moves, (Moves{{2, 4}, {4, 2}, {2, 1}}));
}

TEST(Trials, AProcessThatCannotBeStartedIsNotMissed) {
  ProcessModel model([](double n) { return 0.5 * n; }, 4);
  model.state.limits.cpus = 4;
  model.run(1);
  ASSERT_EQ(model.moves, (Moves{{4, 8}}));
  model.seen.settings[KnobId::kProcesses] = 5;  // as many as there could be
  model.state.limits[KnobId::kProcesses].high = 5;
  model.ready_at.resize(5);
  model.run(60);
  EXPECT_EQ(model.moves, (Moves{{4, 8}}));
}

TEST(Trials, CountersOfAnotherPlantAreNoWindow) {
  ProcessModel model(sleeping);
  model.run(0.4);
  ProcessModel other(sleeping);
  other.state = model.state;
  other.run(5);
  EXPECT_EQ(other.moves, (Moves{{2, 4}}));
  EXPECT_NE(other.reasons[0].find("100 % waited, 1000.0/s"), std::string::npos) << other.reasons[0];
}

TEST(Trials, NothingIsTriedWithoutATurnAndATrialThatLostItsTurnIsTakenBack) {
  ProcessModel model(sleeping);
  model.seen.turn = Turn::kTaken;
  model.run(5);
  EXPECT_EQ(model.moves, Moves{});
  EXPECT_EQ(model.state.trying, Trying::kWaits);
  model.seen.turn = Turn::kAsked;
  model.run(5);
  EXPECT_EQ(model.moves, Moves{});
  EXPECT_EQ(model.state.trying, Trying::kWaits);
  model.seen.turn = Turn::kOpen;
  while (model.moves.empty()) model.step(0.05);
  EXPECT_EQ(model.state.trying, Trying::kTries);
  model.run(0.5);
  model.seen.turn = Turn::kTaken;
  model.run(1);
  EXPECT_EQ(model.moves, (Moves{{2, 4}, {4, 2}}));
  EXPECT_EQ(model.state.trying, Trying::kWaits);
  model.seen.turn = Turn::kOpen;
  model.run(20);
  EXPECT_EQ(model.processes(), 4);  // it did not count as a failure
  EXPECT_EQ(model.state.trying, Trying::kNot);
}

TEST(Trials, ACutToTheBudgetNeedsNoTurn) {
  ProcessModel model([](double n) { return n; }, 4);
  model.seen.turn = Turn::kAsked;
  model.run(10);
  EXPECT_EQ(model.moves, (Moves{{4, 2}}));
}

TEST(Trials, APlantWithoutProcessesStaysAsItIs) {
  Observation seen;
  seen.settings.knobs = {3, 5, 7, 0, 0};
  PolicyState state;
  EXPECT_EQ(Trials().decide(seen, state), seen.settings);
  EXPECT_TRUE(state.why.view().empty());
}

}  // namespace
}  // namespace drapps
