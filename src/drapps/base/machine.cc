#include "drapps/base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "drapps/base/cgroups.h"
#include "drapps/base/system_text.h"

namespace drapps {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct CgroupLimits {
  double quota = std::numeric_limits<double>::infinity();
  std::size_t memory = kNoLimit;
  std::size_t memory_left = kNoLimit;
  std::optional<std::set<int>> cpuset;
};

void limit_cpu(const CgroupHierarchy& hierarchy, const std::string& directory, CgroupLimits& limits) {
  std::optional<std::uint64_t> quota;
  std::optional<std::uint64_t> period;
  if (hierarchy.v2) {
    const std::string text = read_text(directory + "/cpu.max");  // "quota period" or "max period"
    quota = leading_number(text);
    const std::size_t space = text.find(' ');
    if (space != std::string::npos) period = leading_number(std::string_view(text).substr(space));
  } else {
    quota = leading_number(read_text(directory + "/cpu.cfs_quota_us"));
    period = leading_number(read_text(directory + "/cpu.cfs_period_us"));
  }
  if (!quota || !period || *quota == 0 || *period == 0) return;
  limits.quota = std::min(limits.quota, static_cast<double>(*quota) / static_cast<double>(*period));
}

void limit_memory(const CgroupHierarchy& hierarchy, const std::string& directory, CgroupLimits& limits) {
  const auto limit = leading_number(read_text(directory + (hierarchy.v2 ? "/memory.max" : "/memory.limit_in_bytes")));
  if (!limit) return;
  limits.memory = std::min<std::size_t>(limits.memory, *limit);
  // Pages of files that were not used lately count as usage, yet go as soon as somebody asks.
  const auto used =
      leading_number(read_text(directory + (hierarchy.v2 ? "/memory.current" : "/memory.usage_in_bytes")));
  const std::string stat = read_text(directory + "/memory.stat");
  const auto idle = number_field(stat, hierarchy.v2 ? "inactive_file" : "total_inactive_file");
  const std::uint64_t held = used.value_or(0) - std::min(used.value_or(0), idle.value_or(0));
  limits.memory_left = std::min<std::size_t>(limits.memory_left, *limit - std::min(*limit, held));
}

CgroupLimits cgroup_limits(const std::string& root) {
  CgroupLimits limits;
  for (const CgroupHierarchy& hierarchy :
       cgroup_hierarchies(root, read_text(root + "/proc/self/cgroup"), read_text(root + "/proc/self/mountinfo"))) {
    const std::vector<std::string> directories = hierarchy.directories();
    for (const std::string& directory : directories) {
      if (hierarchy.has("cpu")) limit_cpu(hierarchy, directory, limits);
      if (hierarchy.has("memory")) limit_memory(hierarchy, directory, limits);
    }
    if (!hierarchy.has("cpuset")) continue;
    // The effective set of the nearest group that has one already holds what its ancestors allow.
    for (const std::string& directory : directories) {
      const char* const file = hierarchy.v2 ? "/cpuset.cpus.effective" : "/cpuset.effective_cpus";
      std::set<int> cpus = cpu_list(read_text(directory + file));
      if (cpus.empty() && !hierarchy.v2) cpus = cpu_list(read_text(directory + "/cpuset.cpus"));
      if (cpus.empty()) continue;
      limits.cpuset = std::move(cpus);
      break;
    }
  }
  return limits;
}

int ranks_on_node(const MachineSource& source) {
  for (const char* name : {"LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "SLURM_NTASKS_PER_NODE"}) {
    const char* const text = source.environment ? source.environment(name) : std::getenv(name);
    const auto ranks = leading_number(text != nullptr ? text : "");
    if (ranks && *ranks >= 1 && *ranks <= 65536) return static_cast<int>(*ranks);
  }
  return 1;
}

}  // namespace

std::set<int> scheduler_affinity(const MachineSource& source, MaskOf whose) {
  const char* const of = whose == MaskOf::kThread ? "/proc/thread-self/status" : "/proc/self/status";
  std::set<int> cpus = cpu_list(text_field(read_text(source.root + of), "Cpus_allowed_list").value_or(""));
  cpu_set_t mask;
  if (cpus.empty() && source.root.empty() && sched_getaffinity(0, sizeof mask, &mask) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mask)) cpus.insert(cpu);
    }
  }
  return cpus;
}

MachineLimits machine_limits(const MachineSource& source) {
  const CgroupLimits cgroup = cgroup_limits(source.root);
  MachineLimits limits;
  limits.local_ranks = ranks_on_node(source);

  std::set<int> cpus = source.affinity ? *source.affinity : scheduler_affinity(source, MaskOf::kProcess);
  if (cgroup.cpuset) {
    std::set<int> both;
    std::set_intersection(cpus.begin(), cpus.end(), cgroup.cpuset->begin(), cgroup.cpuset->end(),
                          std::inserter(both, both.end()));
    cpus = both.empty() ? *cgroup.cpuset : both;
  }
  limits.affinity_cpus = std::max(1, static_cast<int>(cpus.size()));
  if (cgroup.quota != std::numeric_limits<double>::infinity()) limits.quota_cpus = cgroup.quota;
  limits.cpus = std::min<double>(limits.affinity_cpus, cgroup.quota) / limits.local_ranks;

  const std::string meminfo = read_text(source.root + "/proc/meminfo");
  const auto kibibytes = [&meminfo](std::string_view key) {
    const auto value = number_field(meminfo, key);
    return value ? static_cast<std::size_t>(*value) * 1024 : kNoLimit;
  };
  const std::size_t total = kibibytes("MemTotal");
  const auto ranks = static_cast<std::size_t>(limits.local_ranks);
  if (cgroup.memory < total) limits.cgroup_memory_bytes = cgroup.memory;
  const std::size_t memory = std::min(total, cgroup.memory);
  const std::size_t available = std::min({memory, kibibytes("MemAvailable"), cgroup.memory_left});
  limits.memory_bytes = memory / ranks;
  limits.available_bytes = available / ranks;
  return limits;
}

std::uint64_t idle_cpu_ns(const MachineSource& source) {
  const std::set<int> cpus = source.affinity ? *source.affinity : scheduler_affinity(source, MaskOf::kProcess);
  const std::string stat = read_text(source.root + "/proc/stat");
  std::uint64_t ticks = 0;
  for (const std::string_view line : split_text(stat, '\n')) {
    // cpu<number> user nice system idle iowait …
    if (!line.starts_with("cpu") || line.size() < 5 || line[3] == ' ') continue;
    const std::vector<std::string_view> fields = split_text(line.substr(3), ' ');
    const auto cpu = leading_number(fields[0]);
    if (fields.size() < 6 || !cpu || !cpus.contains(static_cast<int>(*cpu))) continue;
    ticks += leading_number(fields[4]).value_or(0) + leading_number(fields[5]).value_or(0);
  }
  return ticks * 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
}

}  // namespace drapps
