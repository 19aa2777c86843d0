#include "drapps/trace/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "drapps/decode/crc32.h"
#include "drapps/policy/hill_climb.h"
#include "drapps/policy/registry.h"
#include "drapps/trace/run_test.h"

namespace drapps::trace {
namespace {

using testing::HasSubstr;

std::unique_ptr<const Policy> policy_named(const std::string& name) {
  register_test_policies();
  return *make_policy({.name = name});
}

Replay replayed(const std::string& path) {
  auto reader = TraceReader::open(path);
  EXPECT_TRUE(reader.ok());
  auto replay_of = replay(**reader, testing::TempDir());
  EXPECT_TRUE(replay_of.ok()) << replay_of.error().to_string();
  return replay_of.ok() ? *replay_of : Replay{};
}

struct ReplayOf : testing::TestWithParam<std::string> {};

TEST_P(ReplayOf, EveryDecisionComesOutAgainFromTheMiddleOfARunOn) {
  const TemporaryFolder folder;
  const std::string config = "\"" + GetParam() + "\"";
  RecordedRun run(policy_named(GetParam()), config);
  for (int i = 0; i < 120; ++i) run.step();
  auto writer = *TraceWriter::open(folder.file(), "{}");
  run.record(writer);
  std::size_t moved = 0;
  for (int i = 0; i < 400; ++i) {
    if (i % 50 == 10) run.plant.limits[KnobId::kWorkers].high = 3 + i % 6;
    if (i == 130) run.plant.limits.cpus = 3.25;
    if (i == 200) run.swap(policy_named("random"), "\"random\"");
    if (i == 250) run.swap(policy_named(GetParam()), config);
    if (i == 300) run.plant.seen.consumer.step.count = 3;  // ran backwards
    const Decision decision = run.step(/*missing=*/i % 90 == 60, 2, i % 70 == 65 ? 3'000'000'000 : 1'000'000);
    moved += decision.applied != decision.before ? 1 : 0;
  }
  EXPECT_GT(moved, 5u);
  ASSERT_TRUE(writer->close().ok());
  const Replay again = replayed(folder.file());
  EXPECT_EQ(again.decisions, 400u);
  EXPECT_EQ(again.equal, 400u);
  EXPECT_EQ(again.first_difference, "");
}

TEST(TraceReplay, DecisionsAboutWorkerProcessesComeOutAgain) {
  const TemporaryFolder folder;
  RecordedRun run(policy_named("trials"), "\"trials\"");
  run.plant.use_processes();
  for (int i = 0; i < 7; ++i) run.step();  // amid a trial
  auto writer = *TraceWriter::open(folder.file(), "{}");
  run.record(writer);
  std::size_t moved = 0;
  for (int i = 0; i < 300; ++i) {
    if (i % 60 == 59) run.plant.limits.cpus = 2 + i % 7;
    const Decision decision = run.step(/*missing=*/i % 90 == 60);
    moved += decision.applied != decision.before ? 1 : 0;
  }
  EXPECT_GT(moved, 2u);
  ASSERT_TRUE(writer->close().ok());
  const Replay again = replayed(folder.file());
  EXPECT_EQ(again.decisions, 300u);
  EXPECT_EQ(again.equal, 300u);
  EXPECT_EQ(again.first_difference, "");
}

INSTANTIATE_TEST_SUITE_P(Policies, ReplayOf, testing::Values("initial", "hill_climb", "random", "random_raw"));

TEST(TraceReplay, TellsTheFirstDifference) {
  const TemporaryFolder folder;
  // Recorded as one policy, decided by another.
  RecordedRun run(policy_named("random"), "\"initial\"");
  auto writer = *TraceWriter::open(folder.file(), "{}");
  run.record(writer);
  for (int i = 0; i < 20; ++i) run.step();
  ASSERT_TRUE(writer->close().ok());
  const Replay again = replayed(folder.file());
  EXPECT_EQ(again.decisions, 20u);
  EXPECT_LT(again.equal, 20u);
  EXPECT_THAT(again.first_difference, HasSubstr("decision "));
  EXPECT_THAT(again.first_difference, HasSubstr(" was "));
}

TEST(TraceReplay, APolicyThatIsNotKnownHereIsRefused) {
  const TemporaryFolder folder;
  RecordedRun run(policy_named("random"), "\"of_another_house\"");
  auto writer = *TraceWriter::open(folder.file(), "{}");
  run.record(writer);
  ASSERT_TRUE(writer->close().ok());
  auto reader = *TraceReader::open(folder.file());
  EXPECT_THAT(replay(*reader, testing::TempDir()).error().message, HasSubstr("of_another_house"));
}

// The header of a whole trace with other words in it.
std::string with_header(const std::string& bytes, const std::string& from, const std::string& to) {
  std::string other = bytes;
  const std::size_t at = other.find(from);
  EXPECT_NE(at, std::string::npos);
  EXPECT_EQ(from.size(), to.size());
  other.replace(at, to.size(), to);
  const auto byte = [&](std::size_t place) { return static_cast<std::uint8_t>(other[place]); };
  std::uint32_t length = 0;
  for (std::size_t i = 0; i < 4; ++i) length |= static_cast<std::uint32_t>(byte(kPreamble + 4 + i)) << 8 * i;
  const std::uint32_t sum =
      crc32({reinterpret_cast<const std::uint8_t*>(other.data()) + kPreamble + 4, std::size_t{length} + 4});
  for (std::size_t i = 0; i < 4; ++i) other[kPreamble + i] = static_cast<char>(sum >> 8 * i);
  return other;
}

TEST(TraceReplay, AnotherSchemaIsRefusedInASentenceAndReadAllTheSame) {
  const TemporaryFolder folder;
  RecordedRun run(policy_named("random"), "\"random\"");
  auto writer = *TraceWriter::open(folder.file(), "{}");
  run.record(writer);
  run.step();
  ASSERT_TRUE(writer->close().ok());
  const std::string bytes = with_header(contents(folder.file()), "\"batches\"", "\"bunches\"");
  auto reader = reader_of(with_header(bytes, "\"schema\":\"", "\"schemas\":"));
  EXPECT_FALSE(reader.ok());
  std::string schema = (*TraceReader::open(folder.file()))->header().schema;
  std::string other = schema;
  std::reverse(other.begin(), other.end());
  reader = reader_of(with_header(contents(folder.file()), schema, other));
  ASSERT_TRUE(reader.ok());
  const auto refused = replay(**reader, testing::TempDir());
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(refused.error().message, HasSubstr("replay it with the version that recorded it"));
  EXPECT_EQ(all_of_kind<DecisionRead>(entries_of(**reader)).size(), 1u);
}

TEST(TraceReplay, AMemoryThatNoPolicyHasIsRefused) {
  RecordedRun run(policy_named("hill_climb"), "\"hill_climb\"");
  for (int i = 0; i < 100; ++i) run.step();
  DeciderState state = run.decider.save();
  Decider other(std::make_unique<HillClimb>(), run.plant.limits);
  EXPECT_TRUE(other.restore(state).ok());
  state.policy.memory.fill(std::byte{0xAB});
  EXPECT_FALSE(other.restore(state).ok());
  state = run.decider.save();
  state.guard.pop_back();
  EXPECT_FALSE(other.restore(state).ok());
  state = run.decider.save();
  state.guard[0] = 2;  // a bool
  EXPECT_FALSE(other.restore(state).ok());
}

}  // namespace
}  // namespace drapps::trace
