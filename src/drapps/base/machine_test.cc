#include "drapps/base/machine.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "drapps/base/clock.h"
#include "drapps/base/unique_handle.h"

namespace drapps {
namespace {

namespace fs = std::filesystem;

/// A machine of 16 CPUs and 64 GiB in a folder of its own, to which a test adds cgroups.
class MachineLimitsTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "drapps-machine-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    put("/proc/self/status", "Name:\tx\nCpus_allowed:\tffff\nCpus_allowed_list:\t0-15\nMems_allowed:\t1\n");
    put("/proc/meminfo", "MemTotal:       67108864 kB\nMemFree:  1 kB\nMemAvailable:   33554432 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }
  void mount_v2(const std::string& group, const std::string& mount_root = "/") {
    put("/proc/self/cgroup", "0::" + group + "\n");
    put("/proc/self/mountinfo", "24 1 254:0 / / rw - ext4 /dev/vda rw\n30 24 0:26 " + mount_root +
                                    " /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n");
  }
  void mount_v1(const std::string& group, const std::string& mount_root = "/") {
    put("/proc/self/cgroup", "9:cpuset:" + group + "\n4:cpu,cpuacct:" + group + "\n3:memory:" + group +
                                 "\n1:name=systemd:/user.slice\n0::/\n");
    std::string mounts;
    for (const std::string controllers : {"cpuset", "cpu,cpuacct", "memory"}) {
      mounts += "31 30 0:27 " + mount_root + " /sys/fs/cgroup/" + controllers + " rw shared:9 - cgroup cgroup rw," +
                controllers + "\n";
    }
    put("/proc/self/mountinfo", mounts);
  }
  MachineLimits limits() {
    return machine_limits({.root = root_, .environment = [this](const char* name) -> const char* {
                             const auto variable = environment_.find(name);
                             return variable == environment_.end() ? nullptr : variable->second.c_str();
                           }});
  }

  std::string root_;
  std::map<std::string, std::string> environment_;
};

constexpr std::size_t kGiB = std::size_t{1} << 30;

TEST_F(MachineLimitsTest, WholeMachineWithoutCgroups) {
  const MachineLimits machine = limits();
  EXPECT_EQ(machine.cpus, 16);
  EXPECT_EQ(machine.affinity_cpus, 16);
  EXPECT_EQ(machine.quota_cpus, 0);
  EXPECT_EQ(machine.memory_bytes, 64 * kGiB);
  EXPECT_EQ(machine.available_bytes, 32 * kGiB);
  EXPECT_EQ(machine.cgroup_memory_bytes, 0u);
  EXPECT_EQ(machine.local_ranks, 1);
}

TEST_F(MachineLimitsTest, SchedulerAffinityCounts) {
  put("/proc/self/status", "Cpus_allowed_list:\t0-2,5,8-9\n");
  EXPECT_EQ(limits().cpus, 6);
}

TEST_F(MachineLimitsTest, QuotaOfCgroupV2MayBeAFraction) {
  mount_v2("/app");
  put("/sys/fs/cgroup/app/cpu.max", "250000 100000\n");
  EXPECT_DOUBLE_EQ(limits().cpus, 2.5);
  EXPECT_DOUBLE_EQ(limits().quota_cpus, 2.5);
}

TEST_F(MachineLimitsTest, SmallestQuotaAlongTheNestedPathOfV2) {
  mount_v2("/outer/middle/inner");
  put("/sys/fs/cgroup/outer/cpu.max", "800000 100000\n");
  put("/sys/fs/cgroup/outer/middle/cpu.max", "30000 10000\n");
  put("/sys/fs/cgroup/outer/middle/inner/cpu.max", "max 100000\n");
  put("/sys/fs/cgroup/outer/memory.max", "4294967296\n");
  put("/sys/fs/cgroup/outer/middle/inner/memory.max", "max\n");
  const MachineLimits machine = limits();
  EXPECT_DOUBLE_EQ(machine.cpus, 3);
  EXPECT_EQ(machine.memory_bytes, 4 * kGiB);
  EXPECT_EQ(machine.cgroup_memory_bytes, 4 * kGiB);
}

TEST_F(MachineLimitsTest, QuotaOfASiblingGroupDoesNotCount) {
  mount_v2("/mine");
  put("/sys/fs/cgroup/other/cpu.max", "100000 100000\n");
  put("/sys/fs/cgroup/mine/cpu.max", "max 100000\n");
  EXPECT_EQ(limits().cpus, 16);
}

TEST_F(MachineLimitsTest, ContainerSeesItsOwnGroupAsTheRoot) {
  mount_v2("/docker/abc", "/docker/abc");
  put("/sys/fs/cgroup/cpu.max", "400000 100000\n");
  EXPECT_DOUBLE_EQ(limits().cpus, 4);
}

TEST_F(MachineLimitsTest, GroupOutsideTheCgroupNamespaceFallsBackToTheMount) {
  mount_v2("/../../elsewhere");
  put("/sys/fs/cgroup/cpu.max", "500000 100000\n");
  EXPECT_DOUBLE_EQ(limits().cpus, 5);
}

TEST_F(MachineLimitsTest, QuotaAndMemoryOfCgroupV1) {
  mount_v1("/docker/abc");
  put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_quota_us", "150000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/docker/abc/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_quota_us", "-1\n");
  put("/sys/fs/cgroup/cpu,cpuacct/docker/cpu.cfs_period_us", "100000\n");
  put("/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes", "8589934592\n");
  put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  const MachineLimits machine = limits();
  EXPECT_DOUBLE_EQ(machine.cpus, 1.5);
  EXPECT_EQ(machine.memory_bytes, 8 * kGiB);
}

TEST_F(MachineLimitsTest, CpusetsOfBothVersionsNarrowTheAffinity) {
  mount_v2("/app");
  put("/sys/fs/cgroup/app/cpuset.cpus.effective", "12-19\n");
  EXPECT_EQ(limits().cpus, 4) << "only 12 to 15 are also in the scheduler's mask";

  mount_v1("/app");
  put("/sys/fs/cgroup/cpuset/app/cpuset.cpus", "0-1\n");
  EXPECT_EQ(limits().cpus, 2);
}

TEST_F(MachineLimitsTest, AvailableMemoryIsWhatTheGroupHasLeft) {
  mount_v2("/app");
  put("/sys/fs/cgroup/app/memory.max", std::to_string(10 * kGiB));
  put("/sys/fs/cgroup/app/memory.current", std::to_string(9 * kGiB));
  put("/sys/fs/cgroup/app/memory.stat", "anon 1\nfile 5\ninactive_file " + std::to_string(3 * kGiB) + "\n");
  EXPECT_EQ(limits().available_bytes, 4 * kGiB) << "pages of idle files are given back when asked for";
}

TEST_F(MachineLimitsTest, RanksOfTheNodeShareIt) {
  mount_v2("/app");
  put("/sys/fs/cgroup/app/cpu.max", "600000 100000\n");
  environment_ = {{"SLURM_NTASKS_PER_NODE", "8"}, {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}};
  EXPECT_DOUBLE_EQ(limits().cpus, 2);
  environment_["LOCAL_WORLD_SIZE"] = "4";
  EXPECT_DOUBLE_EQ(limits().cpus, 1.5);
  EXPECT_EQ(limits().memory_bytes, 16 * kGiB);
  EXPECT_EQ(limits().local_ranks, 4);
  environment_["LOCAL_WORLD_SIZE"] = "many";
  EXPECT_DOUBLE_EQ(limits().cpus, 2) << "what is not a number is passed over";
}

TEST_F(MachineLimitsTest, IdleTimeIsThatOfTheCpusInTheMask) {
  put("/proc/stat",
      "cpu  9 9 9 9000 900 0 0 0 0 0\ncpu0 1 0 1 100 10 0 0 0 0 0\ncpu1 1 0 1 200 0 0 0 0 0 0\n"
      "cpu2 1 0 1 4000 0 0 0 0 0 0\nintr 5 6 7 8 9 10\n");
  const auto tick = 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
  EXPECT_EQ(idle_cpu_ns({.root = root_}), 4310 * tick);
  EXPECT_EQ(idle_cpu_ns({.root = root_, .affinity = std::set<int>{0, 1}}), 310 * tick);
  put("/proc/stat", "cpu0 1\n");
  EXPECT_EQ(idle_cpu_ns({.root = root_}), 0u);
  fs::remove_all(root_ + "/proc");
  EXPECT_EQ(idle_cpu_ns({.root = root_}), 0u);
}

TEST_F(MachineLimitsTest, EmptyTreeStillGivesOneCpu) {
  fs::remove_all(root_ + "/proc");
  EXPECT_EQ(limits().cpus, 1);
}

TEST(MachineLimitsHere, ThisMachineHasSomeOfEverything) {
  const MachineLimits machine = machine_limits();
  EXPECT_GT(machine.cpus, 0);
  EXPECT_LE(machine.cpus, ::sysconf(_SC_NPROCESSORS_CONF));
  EXPECT_GT(machine.available_bytes, 0u);
  EXPECT_LE(machine.available_bytes, machine.memory_bytes);
}

TEST(UniqueHandleTest, ClosesExactlyWhatItOwns) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const UniqueHandle reader(ends[0]);
  {
    UniqueHandle writer(ends[1]);
    UniqueHandle moved = std::move(writer);
    EXPECT_FALSE(writer);  // NOLINT(bugprone-use-after-move): that is the point
    EXPECT_EQ(moved.get(), ends[1]);
  }
  char byte = 0;
  EXPECT_EQ(::read(reader.get(), &byte, 1), 0) << "the writing end is closed, so the pipe ends";
}

TEST(ClockTest, ThreadTimeIsPartOfProcessTime) {
  const std::uint64_t wall = monotonic_ns();
  const std::uint64_t thread = thread_cpu_ns();
  while (thread_cpu_ns() < thread + 1'000'000) {
  }
  EXPECT_GE(monotonic_ns() - wall, 900'000u);
  EXPECT_GE(process_cpu_ns(), thread_cpu_ns() - thread);
}

}  // namespace
}  // namespace drapps
