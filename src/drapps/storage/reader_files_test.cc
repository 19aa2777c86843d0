// Files that a reader finds otherwise than it expects: without a size, changed, cut off, or not to be read at all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drapps/storage/reader.h"
#include "drapps/storage/reader_testing.h"
#include "drapps/storage/testing.h"

namespace drapps {
namespace {

namespace fs = std::filesystem;
using reader_testing::ReaderTest;
using testing::HasSubstr;

/// A process of this environment, which /proc tells without saying how long it is.
class SizelessProcess {
 public:
  explicit SizelessProcess(std::vector<std::string> variables) : variables_(std::move(variables)) {
    char name[] = "sleep", seconds[] = "600";
    std::array<char*, 3> arguments{name, seconds, nullptr};
    std::vector<char*> environment;
    for (std::string& variable : variables_) environment.push_back(variable.data());
    environment.push_back(nullptr);
    EXPECT_EQ(::posix_spawnp(&pid_, name, nullptr, nullptr, arguments.data(), environment.data()), 0);
    // The call returns before the new program has its environment: that is the test's own at first, and none then.
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
    while (proc_text() != content() && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  ~SizelessProcess() {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  SizelessProcess(const SizelessProcess&) = delete;
  SizelessProcess& operator=(const SizelessProcess&) = delete;
  std::string proc_text() const {
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
    const SizelessProcess process({"A=" + std::string(bytes - 3, 'x')});
    const std::string path = process.path();
    ASSERT_EQ(fs::file_size(path), 0u);
    Recorder recorder;
    const auto reader = new_reader(recorder);
    OwnedRequest owned(path);
    reader->submit(owned.request);
    ASSERT_TRUE(recorder.wait_for(1));
    ASSERT_TRUE(recorder.outcomes()[0].status.ok()) << recorder.outcomes()[0].status.error().message;
    EXPECT_EQ(text_of(owned.request.bytes[0]), process.content());
    EXPECT_EQ(owned.request.identity[0].size, bytes);
    EXPECT_EQ(owned.request.state[0], kUnknownState) << "it may change unseen";
    EXPECT_FALSE(try_read_record(owned.request)) << "who has no time leaves it to the reader";
    ASSERT_TRUE(read_record(owned.request).ok());
    EXPECT_EQ(text_of(owned.request.bytes[0]), process.content());
    EXPECT_TRUE(read_record(owned.request, {.max_file_bytes = bytes}).ok());
    const Error error = error_of(path, {.max_file_bytes = bytes - 1});
    EXPECT_EQ(error.code, ErrorCode::kTooLarge);
    EXPECT_THAT(error.message, HasSubstr("the limit is " + std::to_string(bytes - 1)));
  }
  const SizelessProcess silent({});
  const std::string nothing = silent.path();
  EXPECT_EQ(error_of(nothing).code, ErrorCode::kTruncated);
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
  const auto reader = new_reader(recorder);
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
  const auto reader = new_reader(recorder);
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
  const auto reader = new_reader(recorder);
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

}  // namespace
}  // namespace drapps
