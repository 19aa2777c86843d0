#include "drapps/storage/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <random>
#include <thread>
#include <vector>

#include "drapps/storage/testing.h"

namespace {

std::atomic<std::uint64_t> g_allocations{0};

}  // namespace

// Counts what the whole program allocates, so that a test can say that reading allocates nothing. Weak, since a
// sanitizer brings its own.
[[gnu::weak]] void* operator new(std::size_t bytes) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  if (void* const memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  throw std::bad_alloc();
}
[[gnu::weak]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::weak]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace drapps {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class ReaderTest : public testing::TestWithParam<ReaderKind> {
 protected:
  std::unique_ptr<Reader> made(ReadSink& sink, int depth = 4, ReadLimits limits = {}) {
    auto reader = make_reader({.kind = GetParam(), .depth = depth, .limits = limits}, sink);
    if (!reader.ok() && GetParam() == ReaderKind::kUring && reader.error().code == ErrorCode::kUnsupported)
      return nullptr;
    EXPECT_TRUE(reader.ok()) << reader.error().message;
    return std::move(*reader);
  }
  /// Reads record 0 of the file at `path`, which must fail.
  Error error_of(const std::string& path, ReadLimits limits = {}, MemoryLedger& ledger = MemoryLedger::unlimited()) {
    Recorder recorder;
    const auto reader = made(recorder, 4, limits);
    OwnedRequest owned(path);
    owned.image = Buffer(ledger);
    reader->submit(owned.request);
    EXPECT_TRUE(recorder.wait_for(1));
    const Status status = recorder.outcomes()[0].status;
    EXPECT_FALSE(status.ok());
    if (status.ok()) return {};
    EXPECT_EQ(owned.request.failed, kFirstPart);
    EXPECT_EQ(status.error().stage, Stage::kFetch);
    const Status here = read_record(owned.request, limits);
    EXPECT_FALSE(here.ok());
    if (!here.ok()) {
      EXPECT_EQ(here.error().to_string(), status.error().to_string()) << "a worker says the same";
    }
    EXPECT_FALSE(try_read_record(owned.request, limits));
    return status.error();
  }
  void SetUp() override {
    Recorder recorder;
    if (made(recorder) == nullptr) GTEST_SKIP() << "no io_uring here";
  }
  Folder folder_;
};

/// A process of this environment, which /proc tells without saying how long it is.
class Told {
 public:
  explicit Told(std::vector<std::string> variables) : variables_(std::move(variables)) {
    char name[] = "sleep", seconds[] = "600";
    std::array<char*, 3> arguments{name, seconds, nullptr};
    std::vector<char*> environment;
    for (std::string& variable : variables_) environment.push_back(variable.data());
    environment.push_back(nullptr);
    EXPECT_EQ(::posix_spawnp(&pid_, name, nullptr, nullptr, arguments.data(), environment.data()), 0);
    // The call returns before the new program has its environment: that is the test's own at first, and none then.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (told() != content() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ~Told() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Told(const Told&) = delete;
  Told& operator=(const Told&) = delete;
  std::string told() const {
    std::ifstream file(path());
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::string path() const { return "/proc/" + std::to_string(pid_) + "/environ"; }
  std::string content() const {
    std::string all;
    for (const std::string& variable : variables_) all.append(variable).push_back('\0');
    return all;
  }

 private:
  std::vector<std::string> variables_;
  pid_t pid_ = -1;
};

TEST_P(ReaderTest, AFileThatSaysNoSizeIsReadToItsEnd) {
  for (const std::size_t bytes : {10u, 16'383u, 16'384u, 16'385u, 100'000u}) {
    const Told told({"A=" + std::string(bytes - 3, 'x')});
    const std::string path = told.path();
    ASSERT_EQ(fs::file_size(path), 0u);
    Recorder recorder;
    const auto reader = made(recorder);
    OwnedRequest owned(path);
    reader->submit(owned.request);
    ASSERT_TRUE(recorder.wait_for(1));
    ASSERT_TRUE(recorder.outcomes()[0].status.ok()) << recorder.outcomes()[0].status.error().message;
    EXPECT_EQ(text_of(owned.request.bytes[0]), told.content());
    EXPECT_EQ(owned.request.identity[0].size, bytes);
    EXPECT_EQ(owned.request.state[0], kUnknownState) << "it may change unseen";
    EXPECT_FALSE(try_read_record(owned.request)) << "who has no time leaves it to the reader";
    ASSERT_TRUE(read_record(owned.request).ok());
    EXPECT_EQ(text_of(owned.request.bytes[0]), told.content());
    EXPECT_TRUE(read_record(owned.request, {.max_file_bytes = bytes}).ok());
    const Error error = error_of(path, {.max_file_bytes = bytes - 1});
    EXPECT_EQ(error.code, ErrorCode::kTooLarge);
    EXPECT_THAT(error.message, HasSubstr("the limit is " + std::to_string(bytes - 1)));
  }
  const Told silent({});
  const std::string nothing = silent.path();
  EXPECT_EQ(error_of(nothing).code, ErrorCode::kTruncated);
}

TEST_P(ReaderTest, ReadsImagesAndMasksWhole) {
  std::vector<std::string> images;
  std::vector<std::string> masks;
  for (std::uint64_t i = 0; i < 40; ++i) {
    images.push_back(folder_.put(std::to_string(i) + ".jpg", content_of(i, 1 + i * 7919)));
    masks.push_back(folder_.put(std::to_string(i) + ".png", content_of(1000 + i, 1 + i * 31)));
  }
  Recorder recorder;
  const auto reader = made(recorder);
  std::deque<OwnedRequest> requests;
  for (std::uint64_t i = 0; i < 40; ++i) {
    const std::initializer_list<Location> parts{located(images[i]), located(masks[i])};
    reader->submit(requests.emplace_back(parts, i).request);
  }
  ASSERT_TRUE(recorder.wait_for(40));
  for (const auto& outcome : recorder.outcomes()) ASSERT_TRUE(outcome.status.ok());
  for (std::uint64_t i = 0; i < 40; ++i) {
    const ReadRequest& request = requests[i].request;
    EXPECT_EQ(text_of(request.bytes[0]), content_of(i, 1 + i * 7919));
    EXPECT_EQ(text_of(request.bytes[1]), content_of(1000 + i, 1 + i * 31));
    struct stat status{};
    ASSERT_EQ(::stat(masks[i].c_str(), &status), 0);
    EXPECT_EQ(request.identity[1],
              (FileIdentity{static_cast<std::uint64_t>(status.st_size),
                            status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec, status.st_ino}));
    EXPECT_GT(request.wall_ns, 0u);
  }
}

TEST_P(ReaderTest, BadFilesAreTypedErrors) {
  EXPECT_EQ(error_of(folder_.path("gone")).code, ErrorCode::kNotFound);
  const std::string file = folder_.put("file", "content");
  EXPECT_EQ(error_of(file + "/below").code, ErrorCode::kNotFound);

  const Error empty = error_of(folder_.put("empty", ""));
  EXPECT_EQ(empty.code, ErrorCode::kTruncated);
  EXPECT_EQ(empty.offset, 0);
  EXPECT_THAT(empty.message, HasSubstr("empty"));

  fs::create_directory(folder_.path("directory"));
  EXPECT_EQ(error_of(folder_.path("directory")).code, ErrorCode::kUnsupported);
  EXPECT_THAT(error_of(folder_.path("directory")).message, HasSubstr("directory"));

  ASSERT_EQ(::mkfifo(folder_.path("fifo").c_str(), 0600), 0);
  EXPECT_THAT(error_of(folder_.path("fifo")).message, HasSubstr("FIFO"));
  EXPECT_THAT(error_of("/dev/zero").message, HasSubstr("device"));

  const Error large = error_of(file, {.max_file_bytes = 6});
  EXPECT_EQ(large.code, ErrorCode::kTooLarge);
  EXPECT_THAT(large.message, HasSubstr("7 bytes"));

  if (::geteuid() != 0) {  // root reads everything
    ASSERT_EQ(::chmod(file.c_str(), 0), 0);
    EXPECT_EQ(error_of(file).code, ErrorCode::kPermission);
  }
}

TEST_P(ReaderTest, FileThatEndsBeforeItsSizeIsTruncatedAtThatByte) {
  // Attributes in sysfs have the size of a page and end much earlier: what a file that shrinks after it was opened
  // looks like.
  const std::string path = "/sys/devices/system/cpu/online";
  std::ifstream file(path);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  if (text.empty()) GTEST_SKIP() << "no sysfs here";
  const Error error = error_of(path);
  EXPECT_EQ(error.code, ErrorCode::kTruncated);
  EXPECT_EQ(error.offset, static_cast<std::int64_t>(text.size()));
}

TEST_P(ReaderTest, FilesThatChangeBetweenEpochsAreNoticed) {
  const std::string path = folder_.put("a", content_of(1, 5000));
  Recorder recorder;
  const auto reader = made(recorder);
  OwnedRequest owned(path);
  reader->submit(owned.request);
  ASSERT_TRUE(recorder.wait_for(1));
  const FileIdentity before = owned.request.identity[0];

  fs::resize_file(folder_.path("a"), 4000);
  reader->submit(owned.request);
  ASSERT_TRUE(recorder.wait_for(2));
  ASSERT_TRUE(recorder.outcomes()[1].status.ok());
  EXPECT_EQ(text_of(owned.request.bytes[0]), content_of(1, 5000).substr(0, 4000));
  EXPECT_NE(owned.request.identity[0], before);

  fs::remove(folder_.path("a"));
  reader->submit(owned.request);
  ASSERT_TRUE(recorder.wait_for(3));
  ASSERT_FALSE(recorder.outcomes()[2].status.ok());
  EXPECT_EQ(recorder.outcomes()[2].status.error().code, ErrorCode::kNotFound);
}

TEST_P(ReaderTest, ABadPartFailsTheRecordAndIsTold) {
  const std::string image = folder_.put("image", "x");
  const std::string mask = folder_.path("mask");
  Recorder recorder;
  const auto reader = made(recorder);
  OwnedRequest owned({located(image), located(mask)});
  reader->submit(owned.request);
  ASSERT_TRUE(recorder.wait_for(1));
  ASSERT_FALSE(recorder.outcomes()[0].status.ok());
  EXPECT_EQ(owned.request.failed, 1);
}

TEST_P(ReaderTest, BudgetAndDescriptorsThatRunOutAreErrorsOfTheSample) {
  const std::string path = folder_.put("big", content_of(1, 100'000));
  MemoryLedger small(50'000);
  EXPECT_EQ(error_of(path, {}, small).code, ErrorCode::kResourceExhausted);

  Recorder recorder;
  const auto reader = made(recorder);
  OwnedRequest owned(path);
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{.rlim_cur = 1, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  reader->submit(owned.request);
  const bool answered = recorder.wait_for(1);
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(answered);
  ASSERT_FALSE(recorder.outcomes()[0].status.ok());
  EXPECT_EQ(recorder.outcomes()[0].status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_THAT(recorder.outcomes()[0].status.error().message, HasSubstr("ulimit -n"));
}

TEST_P(ReaderTest, MemoryCompletesInsideSubmitWithoutACopy) {
  const auto owner = std::make_shared<std::string>("abcdef");
  const auto* const data = reinterpret_cast<const std::uint8_t*>(owner->data());
  Recorder recorder;
  const auto reader = made(recorder);
  ReadRequest request;
  request.parts = 2;
  request.at[0].bytes = {data, 4};
  request.at[1].bytes = {data + 4, 2};
  reader->submit(request);
  ASSERT_EQ(recorder.outcomes().size(), 1u);
  EXPECT_EQ(request.bytes[0].data(), data);
  EXPECT_EQ(request.bytes[1].data(), data + 4);
  EXPECT_EQ(request.identity[0].size, 4u);
  EXPECT_TRUE(try_read_record(request));

  request.at[0].bytes = {data + 4, std::size_t{0}};
  reader->submit(request);
  ASSERT_FALSE(recorder.outcomes()[1].status.ok());
  EXPECT_EQ(recorder.outcomes()[1].status.error().to_string(), read_record(request).error().to_string());
  EXPECT_THAT(recorder.outcomes()[1].status.error().message, HasSubstr("empty"));
}

TEST_P(ReaderTest, DepthOneReadsInTheOrderOfSubmission) {
  std::vector<std::string> images;
  for (std::uint64_t i = 0; i < 100; ++i)
    images.push_back(folder_.put(std::to_string(i), content_of(i, 1 + i % 7 * 50'000)));
  Recorder recorder;
  const auto reader = made(recorder, 32);
  reader->set_depth(-5);
  std::deque<OwnedRequest> requests;
  for (std::uint64_t i = 0; i < 100; ++i) reader->submit(requests.emplace_back(images[i], i).request);
  ASSERT_TRUE(recorder.wait_for(100));
  for (std::uint64_t i = 0; i < 100; ++i) EXPECT_EQ(recorder.outcomes()[i].tag, i);
}

TEST_P(ReaderTest, ClosingCompletesEveryRequestExactlyOnce) {
  const std::string path = folder_.put("a", content_of(1, 300'000));
  for (int round = 0; round < 20; ++round) {
    Recorder recorder;
    std::deque<OwnedRequest> requests;
    {
      const auto reader = made(recorder, 2);
      for (std::uint64_t i = 0; i < 200; ++i) reader->submit(requests.emplace_back(path, i).request);
    }
    std::vector<int> seen(200);
    for (const auto& outcome : recorder.outcomes()) {
      ++seen[outcome.tag];
      if (!outcome.status.ok()) {
        EXPECT_EQ(outcome.status.error().code, ErrorCode::kCancelled);
      }
    }
    for (const int times : seen) ASSERT_EQ(times, 1);
  }
}

TEST_P(ReaderTest, ReadingAllocatesNothingOnceBuffersHaveGrown) {
  std::vector<std::string> images;
  for (std::uint64_t i = 0; i < 16; ++i) images.push_back(folder_.put(std::to_string(i), content_of(i, 40'000)));
  Recorder recorder;
  const auto reader = made(recorder, 8);
  std::deque<OwnedRequest> requests;
  for (std::uint64_t i = 0; i < 16; ++i) {
    const std::initializer_list<Location> parts{located(images[i]), located(images[i])};
    requests.emplace_back(parts, i);
  }
  if (g_allocations.load() == 0) GTEST_SKIP() << "a sanitizer allocates here";
  std::uint64_t before = 0;
  for (int round = 0; round < 50; ++round) {
    if (round == 2) before = g_allocations.load();
    for (OwnedRequest& owned : requests) reader->submit(owned.request);
    ASSERT_TRUE(recorder.wait_for(16));
    recorder.clear();
  }
  EXPECT_EQ(g_allocations.load(), before);
}

/// Each finished request is checked and submitted again for another record, until enough were read. The tag of each is
/// how many requests there are.
class Cycle final : public ReadSink {
 public:
  Cycle(const std::vector<std::string>& files, const std::vector<std::string>& contents, std::uint64_t goal)
      : files_(files), contents_(contents), goal_(goal) {}
  void start(Reader& reader) { reader_ = &reader; }

  void read_done(ReadRequest& request, Status status) noexcept override {
    const auto file = std::ranges::find(files_, request.at[0].path) - files_.begin();
    const auto place = static_cast<std::size_t>(file);
    if (!status.ok() || text_of(request.bytes[0]) != contents_[place]) failures_.fetch_add(1);
    const std::uint64_t finished = finished_.fetch_add(1) + 1;
    request.at[0] = located(files_[(place * 5 + 1) % files_.size()]);
    const std::uint64_t requests = request.tag;
    if (finished + requests > goal_) {
      if (retired_.fetch_add(1) + 1 == requests) retired_.notify_all();  // `request` may be gone
    } else {
      reader_->submit(request);
    }
  }
  void wait(std::uint64_t requests) {
    for (std::uint64_t seen = retired_.load(); seen != requests; seen = retired_.load()) retired_.wait(seen);
  }
  std::uint64_t finished() const { return finished_.load(); }
  int failures() const { return failures_.load(); }

 private:
  const std::vector<std::string>& files_;
  const std::vector<std::string>& contents_;
  const std::uint64_t goal_;
  Reader* reader_ = nullptr;
  std::atomic<std::uint64_t> finished_{0};
  std::atomic<std::uint64_t> retired_{0};
  std::atomic<int> failures_{0};
};

TEST_P(ReaderTest, DepthMayChangeAtAnyMomentWhileManyThreadsSubmit) {
  constexpr std::uint64_t kGoal = 6000;
  constexpr std::uint64_t kRequests = 96;
  std::vector<std::string> contents;
  std::vector<std::string> images;
  for (std::uint64_t i = 0; i < 64; ++i) {
    contents.push_back(content_of(i, 1 + i * 400));
    images.push_back(folder_.put(std::to_string(i), contents.back()));
  }
  Cycle cycle(images, contents, kGoal);
  const auto reader = made(cycle, 3);
  cycle.start(*reader);
  std::deque<OwnedRequest> requests;
  for (std::uint64_t i = 0; i < kRequests; ++i) requests.emplace_back(images[i % 64], kRequests);
  {
    std::vector<std::jthread> threads;
    for (std::uint64_t t = 0; t < 3; ++t) {
      threads.emplace_back([&, t] {
        for (std::uint64_t i = t; i < kRequests; i += 3) reader->submit(requests[i].request);
      });
    }
    threads.emplace_back([&](const std::stop_token& stop) {
      std::mt19937 random(9);
      while (!stop.stop_requested()) {
        reader->set_depth(1 + static_cast<int>(random() % 24));
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
      }
    });
    cycle.wait(kRequests);
  }
  EXPECT_EQ(cycle.failures(), 0);
  EXPECT_GE(cycle.finished(), kGoal - kRequests);
}

INSTANTIATE_TEST_SUITE_P(Kinds, ReaderTest, testing::Values(ReaderKind::kPread, ReaderKind::kUring),
                         [](const auto& kind) {
                           return kind.param == ReaderKind::kPread ? std::string("Pread") : std::string("Uring");
                         });

TEST(TryReadTest, WarmFileIsReadAtOnce) {
  const Folder folder;
  const std::string path = folder.put("a", content_of(3, 70'000));
  OwnedRequest owned(path);
  if (!try_read_record(owned.request)) GTEST_SKIP() << "this kernel or file system does not say whether it would block";
  EXPECT_EQ(text_of(owned.request.bytes[0]), content_of(3, 70'000));
  EXPECT_EQ(owned.request.identity[0].size, 70'000u);
}

TEST(MakeReaderTest, EnvironmentForcesAReader) {
  Recorder recorder;
  ASSERT_EQ(::setenv("DRAPPS_IO", "pread", 1), 0);
  EXPECT_EQ((*make_reader({}, recorder))->kind(), ReaderKind::kPread);
  ASSERT_EQ(::setenv("DRAPPS_IO", "quantum", 1), 0);
  const auto refused = make_reader({}, recorder);
  EXPECT_EQ((*make_reader({.kind = ReaderKind::kPread}, recorder))->kind(), ReaderKind::kPread);
  ASSERT_EQ(::unsetenv("DRAPPS_IO"), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().message, HasSubstr("'quantum'"));
  EXPECT_TRUE(make_reader({}, recorder).ok()) << "without a word, whatever the kernel allows";
}

}  // namespace
}  // namespace drapps
