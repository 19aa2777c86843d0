#include "drapps/control/decision_log.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace drapps {
namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

/// A run of one decision per half second.
struct Journal {
  Decision decide(double step_ms, std::int32_t proposed, std::int32_t applied, const char* why = "why") {
    const auto ns = static_cast<std::uint64_t>(step_ms * 1e6);
    seen.time_ns += kSecond / 2;
    seen.consumer.step.count += kSecond / 2 / ns;
    seen.consumer.step.sum += kSecond / 2 / ns * ns;
    Decision decision{.time_ns = seen.time_ns, .before = seen.settings, .proposed = seen.settings};
    decision.proposed[KnobId::kWorkers] = proposed;
    decision.applied = seen.settings;
    decision.applied[KnobId::kWorkers] = applied;
    if (applied != proposed) decision.holds[0] = Hold::kClock;
    decision.why = Reason(why);
    log.add(decision, seen);
    seen.settings = decision.applied;
    return decision;
  }
  nlohmann::json entries() const { return log.to_json()["entries"]; }

  Observation seen;
  DecisionLog log{"test"};
};

TEST(DecisionLog, WritesAMoveWithTheStepBeforeAndAfter) {
  Journal run;
  for (int i = 0; i < 10; ++i) run.decide(20, 0, 0, "");
  run.decide(20, 4, 4, "tries four");
  for (int i = 0; i < 2; ++i) run.decide(100, 4, 4, "");  // the second in which the change settles
  EXPECT_TRUE(run.entries()[0]["step_ms_after"].is_null());
  for (int i = 0; i < 4; ++i) run.decide(10, 4, 4, "");
  ASSERT_EQ(run.entries().size(), 1u);
  const auto entry = run.entries()[0];
  EXPECT_EQ(entry["knob"], "workers");
  EXPECT_EQ(entry["before"], 0);
  EXPECT_EQ(entry["proposed"], 4);
  EXPECT_EQ(entry["applied"], 4);
  EXPECT_EQ(entry["why"], "tries four");
  EXPECT_TRUE(entry["held"].is_null());
  EXPECT_NEAR(entry["step_ms_before"].get<double>(), 20, 1e-6);
  EXPECT_NEAR(entry["step_ms_after"].get<double>(), 10, 1e-6);
  EXPECT_NEAR(entry["time_s"].get<double>(), 5.0, 1e-9);
}

TEST(DecisionLog, StepAfterEndsWithTheNextMove) {
  Journal run;
  run.decide(20, 1, 1);
  for (int i = 0; i < 4; ++i) run.decide(10, 1, 1);
  run.decide(10, 2, 2);
  for (int i = 0; i < 6; ++i) run.decide(50, 2, 2);
  EXPECT_NEAR(run.entries()[0]["step_ms_after"].get<double>(), 10, 1e-6);
  EXPECT_NEAR(run.entries()[1]["step_ms_after"].get<double>(), 50, 1e-6);
}

TEST(DecisionLog, StepAfterEndsFiveSecondsLater) {
  Journal run;
  run.decide(20, 1, 1);
  for (int i = 0; i < 12; ++i) run.decide(10, 1, 1);
  for (int i = 0; i < 12; ++i) run.decide(50, 1, 1);
  EXPECT_NEAR(run.entries()[0]["step_ms_after"].get<double>(), 10, 1e-6);
}

TEST(DecisionLog, TheTimeBetweenPassesIsNoTimeOfSteps) {
  Journal run;
  for (int i = 0; i < 5; ++i) run.decide(10, 0, 0, "");
  for (int i = 0; i < 5; ++i) run.decide(20, 0, 0, "");
  run.seen.time_ns += 60 * kSecond;
  run.decide(20, 1, 1);
  run.seen.time_ns += 60 * kSecond;
  for (int i = 0; i < 2; ++i) run.decide(100, 1, 1);
  for (int i = 0; i < 4; ++i) run.decide(50, 1, 1);
  const auto entry = run.entries()[0];
  EXPECT_NEAR(entry["step_ms_before"].get<double>(), 20, 1e-6);
  EXPECT_NEAR(entry["step_ms_after"].get<double>(), 50, 1e-6);
}

TEST(DecisionLog, SaysInWhichEpochADecisionWasMade) {
  Journal run;
  for (const std::uint32_t epoch : {3u, 4u, 9u}) {
    run.log.begin_epoch(epoch);
    run.decide(10, static_cast<std::int32_t>(epoch), static_cast<std::int32_t>(epoch));
    run.decide(10, 0, 0, "");
  }
  run.decide(10, 0, 0, "a remark");
  std::vector<int> epochs;
  for (const auto& entry : run.entries()) epochs.push_back(entry["epoch"]);
  EXPECT_EQ(epochs, (std::vector<int>{3, 3, 4, 4, 9, 9, 9}));
}

TEST(DecisionLog, WritesAHeldProposalAndARemarkOnce) {
  Journal run;
  for (int i = 0; i < 5; ++i) run.decide(10, 7, 0, "wants seven");
  ASSERT_EQ(run.entries().size(), 1u);
  EXPECT_EQ(run.entries()[0]["held"], "moved a moment ago");
  for (int i = 0; i < 5; ++i) run.decide(10, 0, 0, "is content");
  ASSERT_EQ(run.entries().size(), 2u);
  EXPECT_TRUE(run.entries()[1]["knob"].is_null());
  EXPECT_TRUE(run.entries()[1]["before"].is_null());
  EXPECT_EQ(run.entries()[1]["why"], "is content");
  EXPECT_EQ(run.log.to_json()["totals"]["held"], 5);
}

TEST(DecisionLog, NamesTheLanesOfAWeightThatMoved) {
  Journal run;
  Decision decision;
  decision.before.lane_weights = decision.proposed.lane_weights = {0, 8, 8};
  decision.applied.lane_weights = {0, 9, 7};
  run.log.add(decision, run.seen);
  ASSERT_EQ(run.entries().size(), 2u);
  EXPECT_EQ(run.entries()[0]["knob"], "weight decode");
  EXPECT_EQ(run.entries()[1]["knob"], "weight augment");
  EXPECT_EQ(run.entries()[1]["applied"], 7);
}

TEST(DecisionLog, RingDropsTheOldestAndKeepsTheTotals) {
  Journal run;
  for (int i = 1; i <= 1000; ++i) run.decide(10, i, i);
  const auto json = run.log.to_json();
  ASSERT_EQ(json["entries"].size(), DecisionLog::kEntries);
  EXPECT_EQ(json["entries"].back()["applied"], 1000);
  EXPECT_EQ(json["totals"]["decisions"], 1000);
  EXPECT_EQ(json["totals"]["moves"], 1000);
  EXPECT_EQ(json["totals"]["dropped"], 1000 - DecisionLog::kEntries);
}

TEST(DecisionLog, SurvivesCountersThatRunBackwards) {
  Journal run;
  for (int i = 0; i < 5; ++i) run.decide(10, 1 + i, 1 + i);
  run.seen = {};
  for (int i = 0; i < 8; ++i) run.decide(10, 1, 1);
  const auto json = run.log.to_json();
  for (const auto& entry : json["entries"]) {
    for (const char* key : {"step_ms_before", "step_ms_after"}) {
      if (!entry[key].is_null()) {
        EXPECT_NEAR(entry[key].get<double>(), 10, 1e-6);
      }
    }
  }
}

TEST(DecisionLog, KeepsTheFirstReasonForStopping) {
  DecisionLog log("test");
  log.stopped("a");
  log.stopped("b");
  EXPECT_EQ(log.stop_reason(), "control stopped: a");
  EXPECT_EQ(log.to_json()["policy"], "test");
}

}  // namespace
}  // namespace drapps
