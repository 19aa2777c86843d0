#include "drapps/training/recorded.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "drapps/policy/registry.h"
#include "drapps/trace/run_test.h"
#include "drapps/training/trainer.h"

namespace drapps::training {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// A run of so many decisions, of which the fourth has no observation.
void record(const std::string& file, const char* policy, int decisions) {
  const std::string config = json{{"name", policy}}.dump();
  trace::RecordedRun run(*make_policy({.name = policy}), config);
  auto writer = trace::TraceWriter::open(file, "{}");
  ASSERT_TRUE(writer.ok()) << writer.error().message;
  run.record(*writer);
  for (int i = 0; i < decisions; ++i) run.step(/*missing=*/i == 3);
  EXPECT_TRUE((*writer)->close().ok());
}

std::string refused(const Result<Recorded>& read) { return read.ok() ? "read" : read.error().message; }

TEST(Recorded, StepsAreWhatWasAppliedAndKnobsThatNeverMovedAreNotLearnt) {
  const trace::TemporaryFolder folder;
  record(folder.file("a.trace"), "explore", 120);
  record(folder.file("b.trace"), "explore", 60);
  const std::vector files{folder.file("a.trace"), folder.file("b.trace")};
  const auto read = read_recorded(files, default_shape(8), {});
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->runs, 2U);
  // Two steps of each run begin or end without an observation.
  EXPECT_EQ(read->steps.rows, 119 - 2 + 59 - 2U);
  EXPECT_EQ(read->left_out, 4U);
  EXPECT_EQ(read->drawn, read->steps.rows);
  std::uint64_t moved = 0;
  for (const KnobSupport& each : read->support) {
    EXPECT_EQ(each.stays + each.downs + each.ups, read->steps.rows);
    const bool named = std::ranges::find(read->shape.knobs, each.name, &NamedKnob::name) != read->shape.knobs.end();
    EXPECT_EQ(each.learnt, each.downs + each.ups > 0);
    EXPECT_EQ(named, each.learnt);
    EXPECT_LE(each.least, each.most);
    moved += each.downs + each.ups;
    EXPECT_TRUE(each.name != "processes" || !each.learnt);
  }
  EXPECT_GE(moved, 10U);
  const std::size_t knobs = read->shape.knobs.size();
  EXPECT_EQ(read->steps.actions.size(), read->steps.rows * knobs);
  EXPECT_EQ(moved, static_cast<std::uint64_t>(std::ranges::count_if(read->steps.actions, [](float each) {
              return each != static_cast<float>(LearnedMoves::kStay);
            })));
  EXPECT_TRUE(std::ranges::all_of(read->steps.rewards, [](float each) { return std::isfinite(each) && each <= 1.2F; }));
  EXPECT_TRUE(std::ranges::all_of(read->steps.inputs, [](float each) { return std::abs(each) <= 10; }));
}

TEST(Recorded, WhatSaysNothingIsRefused) {
  const trace::TemporaryFolder folder;
  record(folder.file("still.trace"), "static", 30);
  EXPECT_THAT(refused(read_recorded({folder.file("still.trace")}, default_shape(8), {})), HasSubstr("no knob moves"));
  record(folder.file("short.trace"), "explore", 1);
  EXPECT_THAT(refused(read_recorded({folder.file("short.trace")}, default_shape(8), {})), HasSubstr("no step"));
  std::ofstream(folder.file("none.trace")) << "hello";
  EXPECT_THAT(refused(read_recorded({folder.file("none.trace")}, default_shape(8), {})), HasSubstr("none.trace"));
}

TEST(Recorded, ATrainingGoesOnFromItsCheckpointAndItsRunsToTheLastBit) {
  const trace::TemporaryFolder folder;
  record(folder.file("a.trace"), "explore", 80);
  record(folder.file("b.trace"), "explore", 40);
  const std::vector<std::string> runs{folder.file("a.trace")};
  for (const char* learner : {"cql", "bcq", "awac", "cloning"}) {
    const auto options =
        training_options_from_json({{"learner", learner}, {"decisions", 256 * 128}, {"hidden", 4}, {"seed", 2}});
    ASSERT_TRUE(options.ok()) << options.error().message;
    const auto through = *Trainer::begun(*options, runs);
    through->go_on();
    const std::vector<std::uint8_t> saved = through->save();
    const auto again = Trainer::restored(saved, runs);
    ASSERT_TRUE(again.ok()) << again.error().message;
    through->go_on();
    (*again)->go_on();
    EXPECT_TRUE(through->done());
    EXPECT_EQ(through->save(), (*again)->save());
    EXPECT_TRUE(make_policy({.name = learner, .weights = through->weights()}).ok());
    const auto other = Trainer::restored(saved, {folder.file("b.trace")});
    ASSERT_FALSE(other.ok());
    EXPECT_THAT(other.error().message, testing::AnyOf(HasSubstr("other recorded runs"), HasSubstr("no checkpoint")));
  }
}

TEST(Recorded, LearnersTakeTheDataThatTheyCanLearnFrom) {
  const auto options = [](const char* learner) { return *training_options_from_json({{"learner", learner}}); };
  EXPECT_THAT(Trainer::begun(options("cql")).error().message, HasSubstr("there are none"));
  EXPECT_THAT(Trainer::begun(options("sac"), {"a.trace"}).error().message, HasSubstr("cannot learn from recorded"));
  EXPECT_THAT(training_options_from_json({{"learner", "dqn"}}).error().message, HasSubstr("ppo, sac, cloning"));
}

}  // namespace
}  // namespace drapps::training
