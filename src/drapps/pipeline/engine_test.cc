#include "drapps/pipeline/engine.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
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
  /// A limit of the cgroup, and how much of it is in use.
  void memory(const std::string& limit, std::size_t used) const {
    put("/sys/fs/cgroup/job/memory.current", std::to_string(used) + "\n");
    put("/sys/fs/cgroup/job/memory.max", limit + "\n");
  }
  template <class Now, class T>
  static void wait_until(const Now& now, const T& wanted) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(5);
    while (now() != wanted && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    EXPECT_EQ(now(), wanted);
  }
  static void wait_for(const Engine& engine, double cores) {
    wait_until([&] { return engine.cpu_budget(); }, cores);
  }
  static void wait_for_bytes(const Engine& engine, std::size_t bytes) {
    wait_until([&] { return engine.ram_budget(); }, bytes);
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

TEST_F(EngineLimits, AreByTheEnvironmentOfItsFirstMoment) {
  const char* const name = "LOCAL_WORLD_SIZE";
  const char* const before = std::getenv(name);
  if (before != nullptr) GTEST_SKIP() << name << " is set";
  Engine engine;
  const std::size_t available = engine.available_memory();
  setenv(name, "16", 1);
  EXPECT_GT(engine.available_memory(), available / 4);
  unsetenv(name);
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

constexpr std::size_t kMiB = std::size_t{1} << 20;

TEST_F(EngineLimits, FollowTheMemoryThatACgroupLeaves) {
  memory(std::to_string(2048 * kMiB), 48 * kMiB);
  Engine engine;
  const auto limit = engine.limit({});
  engine.watch_machine();
  EXPECT_EQ(engine.ram_budget(), 1000 * kMiB);
  ASSERT_TRUE(engine.memory(MemoryUse::kBatches).try_reserve(100 * kMiB));
  memory(std::to_string(512 * kMiB), 312 * kMiB);  // 100 MiB of it are batches
  wait_for_bytes(engine, 150 * kMiB);
  EXPECT_EQ(engine.machine().memory_bytes, 512 * kMiB);
  memory(std::to_string(256 * kMiB), 312 * kMiB);
  wait_for_bytes(engine, 50 * kMiB);
  EXPECT_FALSE(engine.memory(MemoryUse::kBatches).try_reserve(1));
  memory("max", 312 * kMiB);
  wait_for_bytes(engine, 1000 * kMiB);
  engine.memory(MemoryUse::kBatches).release(100 * kMiB);
}

TEST_F(EngineLimits, ABudgetOfBytesThatWasNamedStaysUnlessTheMachineHasLess) {
  memory(std::to_string(2048 * kMiB), 0);
  Engine engine;
  const auto small = engine.limit({.bytes = 400 * kMiB});
  engine.watch_machine();
  memory(std::to_string(512 * kMiB), 0);
  wait_until([&] { return engine.machine().memory_bytes; }, 512 * kMiB);
  EXPECT_EQ(engine.ram_budget(), 400 * kMiB);
  memory(std::to_string(256 * kMiB), 0);
  wait_for_bytes(engine, 128 * kMiB);
}

TEST_F(EngineLimits, WhatTheCacheKeepsGoesWhereTheMemoryFalls) {
  memory(std::to_string(64 * kMiB), 0);
  Engine engine;
  const auto limit = engine.limit({});
  engine.watch_machine();
  cache::Store& store = engine.cache();
  const cache::Member member = store.join(100, 20 * kMiB);
  for (std::uint64_t i = 0; i < 15; ++i) {
    const cache::Key key{.id = identity_of(std::to_string(i)), .state = 1, .member = member.number};
    EXPECT_EQ(store.offer(key, cache::FormId::kBytes, kMiB, 1, [](auto) {}), cache::Admission::kAdmitted);
  }
  memory(std::to_string(16 * kMiB), 16 * kMiB);
  wait_until([&] { return store.bytes() <= 8 * kMiB; }, true);
  EXPECT_FALSE(store.empty());
  store.leave(member);
}

}  // namespace
}  // namespace drapps
