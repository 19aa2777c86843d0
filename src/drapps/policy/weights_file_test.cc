#include "drapps/policy/weights_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

namespace drapps {
namespace {

namespace fs = std::filesystem;

std::vector<std::byte> weights_like(unsigned number, std::size_t size = 30'000) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 7 + number);
  return bytes;
}

struct WeightsFiles : testing::Test {
  WeightsFiles() {
    std::string name = (fs::temp_directory_path() / "drapps_weights_XXXXXX").string();
    EXPECT_NE(mkdtemp(name.data()), nullptr);
    root = name;
  }
  ~WeightsFiles() override { fs::remove_all(root); }
  std::size_t files() const {
    std::size_t count = 0;
    for (const auto& each : fs::directory_iterator(root)) count += each.is_regular_file() ? 1 : 0;
    return count;
  }
  void damage(const std::string& hash) const {
    std::fstream file(root / (hash + ".weights"), std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(100);
    file.put('!');
  }

  fs::path root;
};

TEST_F(WeightsFiles, AreReadByTheirHash) {
  const auto weights = weights_like(1);
  const std::string hash = weights_hash(weights);
  EXPECT_EQ(hash.size(), 32U);
  ASSERT_TRUE(put_weights(root, weights).ok());
  ASSERT_TRUE(put_weights(root, weights).ok());
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(*get_weights(root, hash), weights);
  EXPECT_EQ(get_weights(root, weights_hash(weights_like(2))).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(get_weights(root, "../../../etc/passwd").error().code, ErrorCode::kCorrupt);
  damage(hash);
  EXPECT_EQ(get_weights(root, hash).error().code, ErrorCode::kCorrupt);
}

TEST_F(WeightsFiles, TheLatestThatIsWholeIsBegunWith) {
  const KeptWeights kept(root);
  EXPECT_TRUE(kept.latest().empty());
  std::ofstream(root / "mine.weights") << "a file of somebody else's";
  for (unsigned i = 1; i <= 3; ++i) {
    ASSERT_TRUE(kept.keep(weights_like(i)).ok());
    fs::last_write_time(root / (weights_hash(weights_like(i)) + ".weights"),
                        fs::file_time_type::clock::now() - std::chrono::seconds(10 - i));
  }
  EXPECT_EQ(kept.latest(), weights_like(3));
  damage(weights_hash(weights_like(3)));
  EXPECT_EQ(kept.latest(), weights_like(2));
  kept.withdraw(weights_hash(weights_like(2)));
  EXPECT_EQ(kept.latest(), weights_like(1));
  ASSERT_TRUE(kept.keep(weights_like(2)).ok());
  EXPECT_EQ(kept.latest(), weights_like(2));
  for (unsigned i = 10; i < 30; ++i) ASSERT_TRUE(kept.keep(weights_like(i)).ok());
  EXPECT_EQ(files(), KeptWeights::kMost + 1);
  EXPECT_TRUE(fs::exists(root / "mine.weights"));
}

TEST_F(WeightsFiles, ADiskThatIsFullLeavesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit little{.rlim_cur = 10'000, .rlim_max = 10'000};
    const bool limited = setrlimit(RLIMIT_FSIZE, &little) == 0;
    const Status kept = KeptWeights(root).keep(weights_like(1));
    _exit(limited && !kept.ok() && kept.error().code == ErrorCode::kIo && files() == 0 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(KeptWeights(root).latest().empty());
  EXPECT_EQ(KeptWeights("/proc/none/of/this").keep(weights_like(1)).ok(), false);
}

TEST_F(WeightsFiles, ProcessesThatAreKilledLeaveWholeOnes) {
  for (unsigned round = 0; round < 10; ++round) {
    std::vector<pid_t> children;
    for (unsigned who = 0; who < 2; ++who) {
      const pid_t child = fork();
      if (child == 0) {
        for (unsigned i = 0;; ++i) static_cast<void>(KeptWeights(root).keep(weights_like(i % 5 * 2 + who)));
      }
      children.push_back(child);
    }
    while (KeptWeights(root).latest().empty()) std::this_thread::yield();
    usleep(2'000 * round);
    for (const pid_t child : children) {
      kill(child, SIGKILL);
      waitpid(child, nullptr, 0);
    }
    const auto latest = KeptWeights(root).latest();
    ASSERT_EQ(latest.size(), weights_like(0).size());
    EXPECT_LT(std::to_integer<unsigned>(latest[0]), 10U);
    for (const auto& each : fs::directory_iterator(root)) {
      const std::string name = each.path().filename().string();
      if (each.path().extension() == ".weights") {
        EXPECT_TRUE(get_weights(root, name.substr(0, 32)).ok()) << name;
      }
    }
  }
}

TEST_F(WeightsFiles, WhatAProcessLeftUnfinishedLongAgoGoes) {
  const KeptWeights kept(root);
  ASSERT_TRUE(kept.keep(weights_like(1)).ok());
  const std::string hash = weights_hash(weights_like(2));
  const fs::path old = root / (hash + ".17.0.unfinished"), fresh = root / (hash + ".18.0.unfinished"),
                 other = root / "mine.unfinished";
  for (const fs::path& each : {old, fresh, other}) std::ofstream(each) << "some";
  for (const fs::path& each : {old, other}) {
    fs::last_write_time(each, fs::file_time_type::clock::now() - std::chrono::hours(2));
  }
  ASSERT_TRUE(kept.keep(weights_like(3)).ok());
  EXPECT_FALSE(fs::exists(old));
  EXPECT_TRUE(fs::exists(fresh));
  EXPECT_TRUE(fs::exists(other));
}

}  // namespace
}  // namespace drapps
