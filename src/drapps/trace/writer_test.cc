#include "drapps/trace/writer.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>

#include <thread>

#include "drapps/base/clock.h"
#include "drapps/trace/run_test.h"

namespace drapps::trace {
namespace {

using testing::HasSubstr;

TEST(TraceWriter, OverwritesNothing) {
  const TemporaryFolder folder;
  std::ofstream(folder.file()) << "something";
  const auto refused = TraceWriter::open(folder.file(), "{}");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(refused.error().to_string(), HasSubstr(folder.file()));
  EXPECT_EQ(contents(folder.file()), "something");
  EXPECT_EQ(TraceWriter::open(folder.file("no/such/folder"), "{}").error().code, ErrorCode::kNotFound);
}

TEST(TraceWriter, AFullDiskEndsTheRecordingWithOneErrorAndOneWarning) {
  // A pipe whose other end is closed fails from the second write on, as a disk does that fills up.
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_EQ(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), 1 << 20);
  UniqueHandle from(ends[0]);
  const auto ignored = signal(SIGPIPE, SIG_IGN);
  auto result = TraceWriter::on(UniqueHandle(ends[1]), "a/path", "{}");
  ASSERT_TRUE(result.ok());
  TraceWriter& writer = **result;
  RecordedRun run(std::make_unique<RandomWalk>(3), "\"random\"");
  run.record(*result);
  from.reset();
  run.step();
  const Status failed = writer.flush(monotonic_ns() + 2'000'000'000);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
  EXPECT_TRUE(writer.ended());
  EXPECT_THAT(writer.take_warning(), HasSubstr("a/path"));
  EXPECT_EQ(writer.take_warning(), "");
  for (int i = 0; i < 10; ++i) run.step();
  EXPECT_TRUE(writer.flush(monotonic_ns() + 9'000'000'000).ok());
  EXPECT_TRUE(writer.close().ok());
  EXPECT_EQ(writer.take_warning(), "");
  signal(SIGPIPE, ignored);
}

TEST(TraceWriter, AFullDeviceIsAnErrorAtOnce) {
  UniqueHandle full(::open("/dev/full", O_WRONLY | O_CLOEXEC));
  if (!full) GTEST_SKIP() << "no /dev/full here";
  const auto refused = TraceWriter::on(std::move(full), "/dev/full", "{}");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kIo);
}

// In a child: the limit and the signal are of a whole process.
TEST(TraceWriter, WhatWasWholeStaysWhereTheFileTakesNoMore) {
  const TemporaryFolder folder;
  const pid_t child = fork();
  if (child == 0) {
    auto writer = *TraceWriter::open(folder.file(), "{}");
    RecordedRun run(std::make_unique<RandomWalk>(3), "\"random\"");
    run.record(writer);
    run.step();
    std::uint64_t now = monotonic_ns();
    bool right = writer->flush(now += 2'000'000'000).ok();
    const std::size_t whole = std::filesystem::file_size(folder.file());
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{whole + 100, whole + 100};
    right = right && setrlimit(RLIMIT_FSIZE, &limit) == 0;
    for (int i = 0; i < 3; ++i) run.step();
    right = right && !writer->flush(now + 2'000'000'000).ok() && writer->ended();
    right = right && std::filesystem::file_size(folder.file()) == whole;
    right = right && writer->take_warning().find("File too large") != std::string::npos;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  auto reader = TraceReader::open(folder.file());
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(all_of_kind<DecisionRead>(entries_of(**reader)).size(), 1u);
  EXPECT_THAT((*reader)->note(), HasSubstr("was not closed"));
}

TEST(TraceWriter, AChildOfAForkLeavesTheFileAlone) {
  const TemporaryFolder folder;
  auto writer = *TraceWriter::open(folder.file(), "{}");
  RecordedRun run(std::make_unique<RandomWalk>(3), "\"random\"");
  run.record(writer);
  run.step();
  const std::size_t size = std::filesystem::file_size(folder.file());
  const pid_t child = fork();
  if (child == 0) {
    run.step();
    _exit(writer->flush(monotonic_ns() + 9'000'000'000).ok() && writer->close().ok() && writer->ended() ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(std::filesystem::file_size(folder.file()), size);
  EXPECT_TRUE(writer->close().ok());
  auto reader = TraceReader::open(folder.file());
  EXPECT_EQ(all_of_kind<DecisionRead>(entries_of(**reader)).size(), 1u);
}

TEST(TraceWriter, IsWrittenNotMoreThanOnceASecond) {
  const TemporaryFolder folder;
  auto writer = *TraceWriter::open(folder.file(), "{}");
  const std::size_t header = std::filesystem::file_size(folder.file());
  RecordedRun run(std::make_unique<RandomWalk>(3), "\"random\"");
  run.record(writer);
  const std::uint64_t now = monotonic_ns();
  ASSERT_TRUE(writer->flush(now).ok());
  EXPECT_EQ(std::filesystem::file_size(folder.file()), header);
  ASSERT_TRUE(writer->flush(now + 1'500'000'000).ok());
  EXPECT_GT(std::filesystem::file_size(folder.file()), header);
  EXPECT_TRUE(writer->close().ok());
}

TEST(TraceWriter, MayBeUsedByManyThreads) {
  const TemporaryFolder folder;
  auto writer = *TraceWriter::open(folder.file(), "{}");
  SimulatedRun plant;
  const Observation seen = plant.next();
  std::vector<std::jthread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, i] {
      for (int turn = 0; turn < 200; ++turn) {
        if (i == 0) writer->decision(plant.limits, seen, {.time_ns = seen.time_ns}, {});
        if (i == 1) writer->pass(static_cast<std::uint32_t>(turn));
        if (i == 2) static_cast<void>(writer->flush(monotonic_ns() + 2'000'000'000));
        if (i == 3 && turn == 150) static_cast<void>(writer->close());
      }
    });
  }
  threads.clear();
  auto reader = TraceReader::open(folder.file());
  ASSERT_TRUE(reader.ok());
  entries_of(**reader);
  EXPECT_EQ((*reader)->note(), "");
}

}  // namespace
}  // namespace drapps::trace
