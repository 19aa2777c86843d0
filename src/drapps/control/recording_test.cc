#include "drapps/control/recording.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "drapps/control/fake_plant_test.h"
#include "drapps/control/fewer_test.h"
#include "drapps/policy/policies_test.h"
#include "drapps/policy/registry.h"
#include "drapps/trace/replay.h"

namespace drapps {
namespace {

using testing::HasSubstr;

struct RecordingTest : testing::Test {
  RecordingTest() {
    register_test_policies();
    std::string name = (std::filesystem::temp_directory_path() / "drapps_record_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
  }
  ~RecordingTest() override { std::filesystem::remove_all(folder); }

  void run(Client& client, int decisions) {
    for (int i = 0; i < decisions; ++i) {
      plant->run(10, 50);
      client.tick(plant->clock());
    }
  }
  trace::Replay replayed() {
    auto reader = trace::TraceReader::open(path());
    EXPECT_TRUE(reader.ok()) << reader.error().to_string();
    auto done = trace::replay(**reader, testing::TempDir());
    EXPECT_TRUE(done.ok()) << done.error().to_string();
    EXPECT_EQ(done->first_difference, "");
    return *done;
  }
  std::string path() const { return folder / "run.trace"; }

  std::filesystem::path folder;
  std::shared_ptr<FakePlant> plant = std::make_shared<FakePlant>();
};

TEST_F(RecordingTest, EveryDecisionIsRecordedAndComesOutAgain) {
  Client client(plant, std::make_unique<RandomWalk>(1), nullptr, PolicyConfig{.name = "random"});
  run(client, 10);
  Recording recording;
  ASSERT_TRUE(recording.begin(path(), "{}", &client).ok());
  client.begin_epoch(3);
  run(client, 30);
  plant->observe_throws = true;
  run(client, 1);
  plant->observe_throws = false;
  plant->limit_workers(3);
  run(client, 10);
  client.freeze();
  run(client, 5);
  client.unfreeze();
  client.swap(*make_policy({.name = "hill_climb"}), PolicyConfig{.name = "hill_climb"});
  run(client, 20);
  client.swap(*make_policy({.name = "faulty"}), PolicyConfig{.name = "faulty"});
  run(client, 4);
  client.swap(*make_policy({.name = "random_raw"}), PolicyConfig{.name = "random_raw"});
  run(client, 20);
  recording.end(&client);
  EXPECT_EQ(recording.take_warning(), "");
  const trace::Replay done = replayed();
  EXPECT_EQ(done.decisions, 30u + 1 + 10 + 20 + 1 + 20);
  EXPECT_EQ(done.equal, done.decisions);
}

TEST_F(RecordingTest, ADecisionThatCouldNotBeAppliedIsRecorded) {
  Client client(plant, std::make_unique<RandomWalk>(1), nullptr, PolicyConfig{.name = "random"});
  Recording recording;
  ASSERT_TRUE(recording.begin(path(), "{}", &client).ok());
  plant->apply_throws = true;
  run(client, 10);
  recording.end(&client);
  auto reader = *trace::TraceReader::open(path());
  bool stopped = false;
  while (auto entry = *reader->next()) {
    const auto* end = std::get_if<trace::Stopped>(&*entry);
    if (end == nullptr) continue;
    EXPECT_THAT(end->why, HasSubstr("the plant refused"));
    stopped = true;
  }
  EXPECT_TRUE(stopped);
  EXPECT_GE(replayed().decisions, 1u);
}

TEST_F(RecordingTest, OneAtATimeAndNothingIsOverwritten) {
  Recording recording;
  Client client(plant, std::make_unique<Fewer>());
  ASSERT_TRUE(recording.begin(path(), "{}", nullptr).ok());
  EXPECT_THAT(recording.begin(folder / "other", "{}", nullptr).error().message, HasSubstr("stop that recording first"));
  EXPECT_FALSE(std::filesystem::exists(folder / "other"));
  recording.follow(client);
  recording.end(&client);
  recording.end(&client);
  EXPECT_THAT(recording.begin(path(), "{}", &client).error().message, HasSubstr("overwrites none"));
  ASSERT_TRUE(recording.begin(folder / "other", "{}", &client).ok());
  recording.end(nullptr);
}

TEST_F(RecordingTest, TheSamplesOfAnIntervalStandWithItsDecision) {
  Client client(plant, std::make_unique<Fewer>());
  auto writer = *trace::TraceWriter::open(path(), "{}");
  std::uint64_t asked = 0;
  client.record(writer, [&]() -> trace::SampleBatch {
    if (++asked == 2) throw std::runtime_error("no samples");
    return {.seen = asked, .samples = {{.index = asked}}};
  });
  run(client, 3);
  ASSERT_TRUE(writer->close().ok());
  auto reader = *trace::TraceReader::open(path());
  std::vector<std::uint64_t> seen;
  while (auto entry = *reader->next()) {
    if (const auto* decision = std::get_if<trace::DecisionRead>(&*entry)) seen.push_back(decision->samples_seen);
  }
  EXPECT_EQ(seen, (std::vector<std::uint64_t>{1, 0, 3}));
}

// In a child: the limit and the signal are of a whole process.
TEST_F(RecordingTest, AFullDiskIsNotedAndTheClientGoesOn) {
  const pid_t child = fork();
  if (child == 0) {
    Client client(plant, std::make_unique<RandomWalk>(1, true), nullptr, PolicyConfig{.name = "random_raw"});
    Recording recording;
    bool right = recording.begin(path(), "{}", &client).ok();
    signal(SIGXFSZ, SIG_IGN);
    const auto size = std::filesystem::file_size(path());
    const rlimit limit{size + 10, size + 10};
    right = right && setrlimit(RLIMIT_FSIZE, &limit) == 0;
    // Much is written at once.
    for (int i = 0; i < 40000 && std::string(client.log().to_json().dump()).find("recording") == std::string::npos;
         ++i) {
      run(client, 5);  // few, so that the remark is still in the log
    }
    const int applied = plant->applied;
    run(client, 10);
    right = right && plant->applied > applied;
    right = right && client.log().to_json().dump().find("the recording has ended") != std::string::npos;
    right = right && recording.take_warning().find("File too large") != std::string::npos;
    right = right && recording.take_warning().empty();
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

}  // namespace
}  // namespace drapps
