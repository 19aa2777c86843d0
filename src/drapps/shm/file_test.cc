#include "drapps/shm/file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "drapps/shm/testing.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): posix_spawn() wants it

namespace drapps {
namespace {

namespace fs = std::filesystem;

// What sanitizers need themselves must not be used up.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

class SharedFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "drapps-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(SharedFileTest, GrownMemoryIsZerosAndEachMappingSeesWhatAnotherWrites) {
  for (const bool of_file : {false, true}) {
    SharedFile memory = of_file ? *SharedFile::create(folder_ / "memory") : *SharedFile::make("test");
    EXPECT_EQ(memory.bytes(), 0u);
    ASSERT_TRUE(memory.grow(3 * kPageBytes).ok());
    const Mapping all = *memory.map(0, 3 * kPageBytes);
    const Mapping middle = *SharedFile::attach(memory.fd())->map(kPageBytes, kPageBytes);
    EXPECT_EQ(middle.data()[7], std::byte{0});
    all.data()[kPageBytes + 7] = std::byte{42};
    EXPECT_EQ(middle.data()[7], std::byte{42});
    EXPECT_GE(memory.resident(), kPageBytes);
    memory.punch(0, 3 * kPageBytes);
    EXPECT_EQ(memory.resident(), 0u);
    EXPECT_EQ(middle.data()[7], std::byte{0});
  }
}

TEST_F(SharedFileTest, ABackedRangeHasPagesAndKeepsWhatItHolds) {
  SharedFile memory = *SharedFile::make("test");
  ASSERT_TRUE(memory.grow(600 * kPageBytes).ok());
  const Mapping all = *memory.map(0, 600 * kPageBytes);
  all.data()[5000] = std::byte{42};
  EXPECT_TRUE(memory.back(4000, 2000));
  EXPECT_EQ(memory.resident(), 2 * kPageBytes);
  EXPECT_EQ(all.data()[5000], std::byte{42});
  EXPECT_TRUE(memory.back(0, 600 * kPageBytes));
  EXPECT_EQ(memory.resident(), 600 * kPageBytes);
  const UniqueHandle fd(open(("/proc/self/fd/" + std::to_string(memory.fd())).c_str(), O_RDONLY | O_CLOEXEC));
  EXPECT_FALSE(SharedFile::attach(fd.get())->back(0, kPageBytes));
}

TEST_F(SharedFileTest, RangesBeyondTheEndAreErrors) {
  SharedFile memory = *SharedFile::make("test");
  ASSERT_TRUE(memory.grow(2 * kPageBytes).ok());
  const std::uint64_t most = ~std::uint64_t{0};
  for (const auto& [offset, bytes] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {0, 3 * kPageBytes}, {kPageBytes, 2 * kPageBytes}, {3 * kPageBytes, 1}, {kPageBytes, most}, {most, 2}}) {
    EXPECT_EQ(memory.map(offset, bytes).error().code, ErrorCode::kTruncated) << offset << " " << bytes;
  }
  EXPECT_EQ(memory.map(0, 0).error().code, ErrorCode::kResourceExhausted);
}

TEST_F(SharedFileTest, AnErrorOfMappingNamesTheLimitThatIsReached) {
  std::ifstream file("/proc/sys/vm/max_map_count");
  std::int64_t most = 0;
  file >> most;
  for (const bool of_mappings : {false, true}) {
    if (of_mappings && (kSanitized || most > 1 << 20)) continue;  // so many take too long
    // In a process of its own, whose limit stays with it.
    const pid_t child = fork();
    if (child == 0) {
      SharedFile memory = *SharedFile::make("test");
      static_cast<void>(memory.grow(std::uint64_t{1} << 40));
      if (of_mappings) {  // neighbours that differ are not joined
        int allowed = PROT_READ;
        while (mmap(nullptr, kPageBytes, allowed, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) {
          allowed ^= PROT_READ;
        }
      } else {
        static_cast<void>(shm_testing::leave_address_space(std::uint64_t{1} << 30));
      }
      const auto mapping = memory.map(0, of_mappings ? kPageBytes : std::uint64_t{1} << 32);
      const std::string name = of_mappings ? "vm.max_map_count" : "ulimit -v";
      _exit(!mapping.ok() && mapping.error().message.find(name) != std::string::npos ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << of_mappings;
  }
}

TEST_F(SharedFileTest, AMemfdNeverShrinks) {
  SharedFile memory = *SharedFile::make("test");
  ASSERT_TRUE(memory.grow(kPageBytes).ok());
  EXPECT_NE(ftruncate(memory.fd(), 0), 0);
  EXPECT_TRUE(memory.grow(2 * kPageBytes).ok());
}

TEST_F(SharedFileTest, WhatIsNoMemoryIsRefused) {
  EXPECT_EQ(SharedFile::open(folder_ / "none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(SharedFile::open(folder_ / "none").error().path, folder_ / "none");
  EXPECT_EQ(SharedFile::open(folder_).error().code, ErrorCode::kIo);
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(SharedFile::open(folder_ / "pipe").error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(SharedFile::attach(-1).error().code, ErrorCode::kInvalidArgument);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  EXPECT_EQ(SharedFile::attach(ends[0]).error().code, ErrorCode::kInvalidArgument);
  close(ends[0]);
  close(ends[1]);
  ASSERT_TRUE(SharedFile::create(folder_ / "memory").ok());
  EXPECT_EQ(SharedFile::create(folder_ / "memory").error().code, ErrorCode::kInvalidArgument) << "it is there already";
}

constexpr const char* kPathVariable = "DRAPPS_SHARED_FILE";

TEST_F(SharedFileTest, AProcessThatWasNotForkedAttachesByThePath) {
  if (const char* given = std::getenv(kPathVariable)) {  // in that process
    const Mapping mapping = *SharedFile::open(given)->map(0, kPageBytes);
    reinterpret_cast<std::atomic<int>*>(mapping.data())->fetch_add(1);
    return;
  }
  const std::string path = folder_ / "memory";
  SharedFile memory = *SharedFile::create(path);
  ASSERT_TRUE(memory.grow(kPageBytes).ok());
  const Mapping mapping = *memory.map(0, kPageBytes);
  auto& count = *reinterpret_cast<std::atomic<int>*>(mapping.data());
  count = 41;
  std::string filter = "--gtest_filter=SharedFileTest.AProcessThatWasNotForkedAttachesByThePath";
  std::string variable = std::string(kPathVariable) + "=" + path;
  std::string self = "/proc/self/exe";
  char* const arguments[] = {self.data(), filter.data(), nullptr};
  std::vector<char*> environment{variable.data()};
  for (char** entry = environ; *entry != nullptr; ++entry) environment.push_back(*entry);
  environment.push_back(nullptr);
  pid_t child = 0;
  ASSERT_EQ(posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, environment.data()), 0);
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(count, 42);
}

}  // namespace
}  // namespace drapps
