#include "drapps/storage/storage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <thread>
#include <vector>

#include "drapps/base/clock.h"
#include "drapps/storage/emulated_storage.h"
#include "drapps/storage/testing.h"

namespace drapps {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

constexpr RetryOptions kQuick{
    .first_pause = milliseconds(1), .longest_pause = milliseconds(4), .deadline = milliseconds(50)};

/// Refuses each request so often, then reads.
class Refusing final : public Storage {
 public:
  explicit Refusing(std::uint32_t times) : Storage(kQuick), times_(times) {}
  std::string_view kind() const noexcept override { return "refusing"; }

 private:
  class Plain final : public Reader {
   public:
    Plain(Refusing& storage, ReadSink& sink) : storage_(storage), sink_(sink) {}
    void submit(ReadRequest& request) override { sink_.read_done(request, storage_.read_once(request, {}, {})); }
    void set_depth(int) override {}
    ReaderKind kind() const noexcept override { return ReaderKind::kPread; }

   private:
    Refusing& storage_;
    ReadSink& sink_;
  };

  Result<std::unique_ptr<Reader>> make_plain_reader(const ReaderOptions&, ReadSink& sink) override {
    return std::unique_ptr<Reader>(std::make_unique<Plain>(*this, sink));
  }
  Status read_once(ReadRequest& request, const ReadLimits& limits, const std::function<bool()>&) override {
    if (request.tries < times_) return Error{.code = ErrorCode::kUnavailable, .message = "not now"};
    return read_record(request, limits);
  }
  bool try_read_once(ReadRequest&, const ReadLimits&) override { return false; }

  const std::uint32_t times_;
};

TEST(Storage, WhatIsRefusedForAWhileIsReadAfterAll) {
  const Folder folder;
  const std::string path = folder.put("a", content_of(1, 5000));
  Refusing storage(3);
  Recorder recorder;
  OwnedRequest owned(path);
  {
    const auto reader = *storage.make_reader({}, recorder);
    reader->submit(owned.request);
    ASSERT_TRUE(recorder.wait_for(1));
  }
  ASSERT_TRUE(recorder.outcomes()[0].status.ok());
  EXPECT_EQ(text_of(owned.request.bytes[0]), content_of(1, 5000));
  EXPECT_TRUE(storage.read(owned.request).ok());
  const StorageCounts counts = storage.meter().counts();
  EXPECT_EQ(counts.refusals, 6u);
  EXPECT_EQ(counts.retries, 6u);
  EXPECT_EQ(counts.bytes, 10'000u);
  EXPECT_EQ(counts.failures, 0u);
  EXPECT_EQ(counts.in_flight, 0);
  EXPECT_EQ(counts.waited.count, 2u);
  EXPECT_EQ(counts.at_once.count, 0u);
}

TEST(Storage, BehindTheDeadlineARefusalIsTheErrorAndAWorkerAsksOnceMore) {
  const Folder folder;
  const std::string path = folder.put("a", "x");
  Refusing storage(1'000'000);
  Recorder recorder;
  OwnedRequest owned(path);
  const auto reader = *storage.make_reader({}, recorder);
  const std::uint64_t begun = monotonic_ns();
  reader->submit(owned.request);
  ASSERT_TRUE(recorder.wait_for(1));
  EXPECT_GE(monotonic_ns() - begun, 40'000'000u);
  ASSERT_FALSE(recorder.outcomes()[0].status.ok());
  const Error& error = recorder.outcomes()[0].status.error();
  EXPECT_EQ(error.code, ErrorCode::kUnavailable);
  EXPECT_THAT(error.message, HasSubstr("it was tried "));
  EXPECT_THAT(error.message, HasSubstr("the storage (refusing)"));
  EXPECT_EQ(storage.meter().failures, 1u);
  const std::uint64_t tries = storage.meter().refusals;
  EXPECT_EQ(storage.read(owned.request).error().code, ErrorCode::kUnavailable);
  // Once more; twice where the first pause was the longer one of the two, and the deadline lies between.
  EXPECT_GE(storage.meter().refusals, tries + 1);
  EXPECT_LE(storage.meter().refusals, tries + 2);
}

TEST(Storage, WhatWaitsForAnotherTryWhenTheReaderGoesIsCancelled) {
  const Folder folder;
  const std::string path = folder.put("a", "x");
  Refusing storage(1'000'000);
  for (int round = 0; round < 20; ++round) {
    Recorder recorder;
    std::deque<OwnedRequest> requests;
    {
      const auto reader = *storage.make_reader({}, recorder);
      for (std::uint64_t i = 0; i < 50; ++i) reader->submit(requests.emplace_back(path, i).request);
      std::this_thread::sleep_for(std::chrono::microseconds(300 * round));
    }
    std::vector<int> seen(50);
    for (const auto& outcome : recorder.outcomes()) ++seen[outcome.tag];
    EXPECT_TRUE(std::ranges::all_of(seen, [](int times) { return times == 1; }));
    EXPECT_EQ(storage.meter().in_flight, 0);
  }
}

TEST(Storage, WhoeverWaitsForARefusedRecordIsStopped) {
  const Folder folder;
  const std::string path = folder.put("a", "x");
  EmulatedStorage storage(*Emulation::make({.schedule = {{0, {.refuses = true}}}}));
  OwnedRequest owned(path);
  const std::uint64_t begun = monotonic_ns();
  const auto stopped = [&] { return monotonic_ns() - begun > 150'000'000; };
  EXPECT_EQ(storage.read(owned.request, {}, stopped).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(storage.meter().in_flight, 0);
}

TEST(Storage, WhoeverWaitsForAStallIsStopped) {
  const Folder folder;
  const std::string path = folder.put("a", "x");
  EmulatedStorage storage(*Emulation::make({.schedule = {{0, {.stalls = true}}, {3600, {}}}}),
                          {.deadline = std::chrono::hours(2)});
  OwnedRequest owned(path);
  const std::uint64_t begun = monotonic_ns();
  const auto stopped = [&] { return monotonic_ns() - begun > 150'000'000; };
  EXPECT_EQ(storage.read(owned.request, {}, stopped).error().code, ErrorCode::kCancelled);
  EXPECT_EQ(storage.meter().in_flight, 0);
  Recorder recorder;
  {
    const auto reader = *storage.make_reader({}, recorder);
    reader->submit(owned.request);
  }
  EXPECT_EQ(recorder.outcomes().size(), 1u) << "closing does not wait for the end of the stall";
}

TEST(Storage, AStallBeyondTheDeadlineIsTheErrorOnBothPaths) {
  const Folder folder;
  const std::string path = folder.put("a", "x");
  EmulatedStorage storage(*Emulation::make({.schedule = {{0, {.stalls = true}}, {3600, {}}}}), kQuick);
  const auto is_it = [](const Error& error) {
    EXPECT_EQ(error.code, ErrorCode::kUnavailable);
    EXPECT_THAT(error.message, HasSubstr("the storage does not answer; it was tried "));
    EXPECT_THAT(error.message, HasSubstr("the storage (emulated)"));
  };
  OwnedRequest owned(path);
  const std::uint64_t begun = monotonic_ns();
  is_it(storage.read(owned.request).error());
  EXPECT_GE(monotonic_ns() - begun, 50'000'000u);

  Recorder recorder;
  const auto reader = *storage.make_reader({}, recorder);
  reader->submit(owned.request);
  ASSERT_TRUE(recorder.wait_for(1));
  is_it(recorder.outcomes()[0].status.error());
  is_it(storage.read(owned.request).error());  // as a worker does behind a reader
  EXPECT_EQ(storage.meter().failures, 3u);
  EXPECT_EQ(storage.meter().in_flight, 0);
}

TEST(Storage, AStallThatEndsInTimeIsNoError) {
  const Folder folder;
  const std::string path = folder.put("a", "x");
  EmulatedStorage storage(*Emulation::make({.schedule = {{0, {.stalls = true}}, {0.1, {}}}}));
  OwnedRequest owned(path);
  EXPECT_TRUE(storage.read(owned.request).ok());
  EXPECT_EQ(storage.meter().refusals, 0u);
}

TEST(Storage, TheDeadlineBeginsWithTheFirstTryNotWithTheQueue) {
  const Folder folder;
  const std::string path = folder.put("a", "x");
  EmulatedStorage storage(
      *Emulation::make({.schedule = {{0, {.latency = 0.3}}, {0.25, {.refuses = true}}, {0.35, {}}}}),
      {.first_pause = milliseconds(1), .longest_pause = milliseconds(4), .deadline = milliseconds(200)});
  Recorder recorder;
  std::deque<OwnedRequest> requests;
  const auto reader = *storage.make_reader({.depth = 1}, recorder);
  for (std::uint64_t i = 0; i < 2; ++i) reader->submit(requests.emplace_back(path, i).request);
  ASSERT_TRUE(recorder.wait_for(2));
  for (const auto& outcome : recorder.outcomes()) EXPECT_TRUE(outcome.status.ok());
}

TEST(Storage, PausesDoubleAndDifferAtRandom) {
  const RetryOptions options{.first_pause = milliseconds(50), .longest_pause = milliseconds(5000)};
  std::vector<std::uint64_t> second;
  for (std::uint64_t random = 0; random < 200; ++random) second.push_back(pause_ns(options, 2, random));
  EXPECT_GE(std::ranges::min(second), 50'000'000u);
  EXPECT_LE(std::ranges::max(second), 100'000'000u);
  EXPECT_GT(std::ranges::max(second) - std::ranges::min(second), 30'000'000u);
  EXPECT_LE(pause_ns(options, 60, 1), 5'000'000'000u);
  EXPECT_GE(pause_ns(options, 60, 1), 2'500'000'000u);
}

TEST(Storage, OfFilesWhatComesAtOnceIsCountedApart) {
  const Folder folder;
  const std::string path = folder.put("a", content_of(1, 5000));
  Storage& files = *Storage::files();
  const std::uint64_t bytes = files.meter().bytes;
  OwnedRequest owned(path);
  if (!files.try_read(owned.request)) GTEST_SKIP() << "this file system does not say whether it would block";
  EXPECT_EQ(files.meter().counts().bytes, bytes + 5000);
  EXPECT_GE(files.meter().counts().at_once.count, 1u);
  EXPECT_EQ(files.kind(), "files");
  const std::string gone = folder.path("gone");
  OwnedRequest missing(gone);
  EXPECT_EQ(files.read(missing.request).error().code, ErrorCode::kNotFound) << "no reason to try again";
}

TEST(Storage, SaysOnWhatAFileLies) {
  const Folder machine;
  std::filesystem::create_directories(machine.path("proc/self"));
  machine.put("proc/self/mountinfo",
              "27 1 254:0 / / rw - ext4 /dev/vda rw\n40 27 0:50 / /far/away\\040data rw - nfs4 server:/export rw\n");
  const std::string root = machine.path("");
  const Storage& files = *Storage::files();
  const StorageIdentity far = files.describe("/far/./up/../away data/a.jpg", root);
  EXPECT_EQ(far.kind, "files");
  EXPECT_EQ(far.path, "/far/./up/../away data/a.jpg");
  EXPECT_EQ(far.mount, "/far/away data");
  EXPECT_EQ(far.filesystem, "nfs4");
  EXPECT_EQ(far.device, "server:/export");
  EXPECT_EQ(files.describe("a.jpg", root).mount, "/") << "of the working directory";
  const StorageIdentity unknown = files.describe("/far/a.jpg", machine.path("gone"));
  EXPECT_EQ(unknown.mount + unknown.filesystem + unknown.device, "");
  EXPECT_EQ(files.describe("", root).kind, "files");
}

TEST(Storage, SaysOnWhatAFileLiesBehindASymbolicLink) {
  const Folder folder;
  std::filesystem::create_symlink("/proc/self", folder.path("link"));
  const StorageIdentity linked = Storage::files()->describe(folder.path("link/status"));
  EXPECT_EQ(linked.mount, "/proc");
  EXPECT_EQ(linked.filesystem, "proc");
  const EmulatedStorage slow(*Emulation::make({.schedule = {{0, {}}}}));
  EXPECT_EQ(slow.describe(folder.path("link/status")).kind, "emulated");
  EXPECT_EQ(slow.describe(folder.path("link/status")).mount, "/proc");
}

EmulatedStorage emulated(const EmulatedConditions& conditions) {
  return EmulatedStorage(*Emulation::make({.schedule = {{0, conditions}}}), kQuick);
}

class EmulatedReaderTest : public testing::Test {
 protected:
  EmulatedReaderTest() {
    for (std::uint64_t i = 0; i < kFiles; ++i) paths_.push_back(folder_.put(std::to_string(i), content_of(i, 2000)));
  }
  static constexpr std::uint64_t kFiles = 100;
  Folder folder_;
  std::vector<std::string> paths_;
};

TEST_F(EmulatedReaderTest, ReadsEndWhenTheEmulationSaysWithoutAThreadForEach) {
  EmulatedStorage storage = emulated({.latency = 1});  // longer than to ask for all of them
  Recorder recorder;
  std::deque<OwnedRequest> requests;
  const auto reader = *storage.make_reader({.depth = kMaxReadDepth}, recorder);
  const std::uint64_t begun = monotonic_ns();
  for (std::uint64_t i = 0; i < kFiles; ++i) reader->submit(requests.emplace_back(paths_[i], i).request);
  EXPECT_EQ(storage.meter().in_flight, static_cast<std::int64_t>(kFiles));
  ASSERT_TRUE(recorder.wait_for(kFiles));
  const std::uint64_t took = monotonic_ns() - begun;
  EXPECT_GE(took, 1'000'000'000u);
  for (std::uint64_t i = 0; i < kFiles; ++i) {
    ASSERT_TRUE(recorder.outcomes()[i].status.ok());
    EXPECT_EQ(text_of(requests[i].request.bytes[0]), content_of(i, 2000));
    EXPECT_GE(requests[i].request.wall_ns, 1'000'000'000u);
  }
  OwnedRequest warm(paths_[0]);
  EXPECT_FALSE(storage.try_read(warm.request)) << "a worker would have to wait";
  EXPECT_TRUE(storage.read(warm.request).ok());
}

TEST_F(EmulatedReaderTest, DepthBoundsWhatIsUnderWay) {
  EmulatedStorage storage = emulated({.latency = 0.01});
  Recorder recorder;
  std::deque<OwnedRequest> requests;
  const auto reader = *storage.make_reader({.depth = 4}, recorder);
  const std::uint64_t begun = monotonic_ns();
  for (std::uint64_t i = 0; i < 20; ++i) reader->submit(requests.emplace_back(paths_[i], i).request);
  ASSERT_TRUE(recorder.wait_for(20));
  EXPECT_GE(monotonic_ns() - begun, 5u * 10'000'000);  // in five rounds
  for (std::uint64_t i = 0; i < 20; ++i) EXPECT_LT(recorder.outcomes()[i].tag / 4, i / 4 + 1);
}

TEST_F(EmulatedReaderTest, RefusedRequestsComeThroughAfterTheirPauses) {
  constexpr std::uint64_t kSome = 20;  // which take far less time to submit than to let in
  EmulatedStorage storage(*Emulation::make({.schedule = {{0, {.requests_per_second = 50}}}}));
  Recorder recorder;
  std::deque<OwnedRequest> requests;
  const auto reader = *storage.make_reader({.depth = kMaxReadDepth}, recorder);
  for (std::uint64_t i = 0; i < kSome; ++i) reader->submit(requests.emplace_back(paths_[i], i).request);
  ASSERT_TRUE(recorder.wait_for(kSome));
  for (const auto& outcome : recorder.outcomes()) EXPECT_TRUE(outcome.status.ok());
  EXPECT_GT(storage.meter().refusals, 0u);
}

TEST_F(EmulatedReaderTest, ClosingEndsEveryRequestOnce) {
  EmulatedStorage storage = emulated({.latency = 0.3});
  for (int round = 0; round < 10; ++round) {
    Recorder recorder;
    std::deque<OwnedRequest> requests;
    {
      const auto reader = *storage.make_reader({.depth = 8}, recorder);
      for (std::uint64_t i = 0; i < kFiles; ++i) reader->submit(requests.emplace_back(paths_[i], i).request);
    }
    EXPECT_EQ(recorder.outcomes().size(), kFiles);
    EXPECT_EQ(storage.meter().in_flight, 0);
  }
}

}  // namespace
}  // namespace drapps
