#include "drapps/pipeline/engine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

namespace drapps {
namespace {

namespace fs = std::filesystem;

/// A machine of four cores under a cgroup, whose files a test changes.
class EngineLimits : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "drapps-engine-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    mask("self", "0-3");
    mask("thread-self", "0-3");
    put("/proc/meminfo", "MemTotal:       67108864 kB\nMemAvailable:   33554432 kB\n");
    put("/proc/self/cgroup", "0::/job\n");
    put("/proc/self/mountinfo", "30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
    quota("max 100000");
    Engine::read_machine_from(root_);
  }
  void TearDown() override {
    Engine::read_machine_from("");
    fs::remove_all(root_);
  }

  void put(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path + ".new") << text;
    fs::rename(root_ + path + ".new", root_ + path);  // which nobody reads half
  }
  void quota(const std::string& text) const { put("/sys/fs/cgroup/job/cpu.max", text); }
  void mask(const std::string& whose, const std::string& cpus) const {
    put("/proc/" + whose + "/status", "Cpus_allowed_list:\t" + cpus + "\n");
  }
  static void wait_for(const Engine& engine, double cores) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (engine.cpu_budget() != cores && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(engine.cpu_budget(), cores);
  }

  std::string root_;
};

TEST_F(EngineLimits, FollowTheQuotaWhileSomebodyHasAClaim) {
  quota("50000 100000");
  Engine engine;
  EXPECT_EQ(engine.cpu_budget(), 0.5);
  EXPECT_EQ(engine.workers().cpu_budget().cores(), 0.5);
  {
    const auto limit = engine.limit({});
    engine.watch_machine();
    quota("150000 100000");
    wait_for(engine, 1.5);
    EXPECT_EQ(engine.max_workers(), 2);
    EXPECT_EQ(engine.machine().quota_cpus, 1.5);
    quota("max 100000");
    wait_for(engine, 4);
    EXPECT_FALSE(engine.workers().cpu_budget().limited());
  }
  quota("100000 100000");
  const auto limit = engine.limit({.cpus = 3});
  engine.watch_machine();
  wait_for(engine, 3);  // a budget that was named is not the machine's
  EXPECT_EQ(engine.workers().cpu_budget().cores(), 3);
}

TEST_F(EngineLimits, FollowTheMaskOfItsThreadWhereThatChanges) {
  mask("thread-self", "2");  // whoever made it was bound to a core
  Engine engine;
  const auto limit = engine.limit({});
  engine.watch_machine();
  EXPECT_EQ(engine.cpu_budget(), 4);
  mask("self", "1");
  quota("300000 100000");
  wait_for(engine, 3);
  mask("thread-self", "0-1");
  wait_for(engine, 2);
}

}  // namespace
}  // namespace drapps
