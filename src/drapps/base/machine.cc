#include "drapps/base/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "drapps/base/mount_info.h"

namespace drapps {
namespace {

constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();

std::string read_text(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The number at the start of `text`; none for "max", "-1" and nonsense.
std::optional<std::uint64_t> number(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return std::nullopt;
  return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

/// What follows "key:" or "key " at the start of a line.
std::optional<std::string_view> field(std::string_view text, std::string_view key) {
  for (const std::string_view line : split(text, '\n')) {
    if (line.size() > key.size() && line.starts_with(key) && (line[key.size()] == ':' || line[key.size()] == ' ')) {
      return line.substr(key.size() + 1);
    }
  }
  return std::nullopt;
}

/// The CPUs of a list such as "0-3,8".
std::set<int> cpu_list(std::string_view text) {
  std::set<int> cpus;
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  for (const std::string_view range : split(text.substr(0, text.find('\n')), ',')) {
    const auto first = number(range);
    if (!first) continue;
    const std::size_t dash = range.find('-');
    const auto last = dash == std::string_view::npos ? first : number(range.substr(dash + 1));
    for (std::uint64_t cpu = *first; last && cpu <= *last && cpu < 65536; ++cpu) cpus.insert(static_cast<int>(cpu));
  }
  return cpus;
}

/// One cgroup hierarchy as this process sees it.
struct Hierarchy {
  bool v2 = false;
  std::vector<std::string_view> controllers;  // v1 only
  std::string mount;                          // directory of the hierarchy's visible root
  std::string path;                           // of the process's group, below `mount`: "" or "/a/b"

  bool has(std::string_view controller) const {
    return v2 || std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
  }
  /// The directories from the process's group up to the mount point.
  std::vector<std::string> directories() const {
    std::vector<std::string> all;
    for (std::string below = path; !below.empty(); below.resize(below.rfind('/'))) all.push_back(mount + below);
    all.push_back(mount);
    return all;
  }
};

/// The hierarchies of a process, from the text of /proc/self/cgroup ("id:controllers:path"), which outlives the result,
/// and what is mounted.
std::vector<Hierarchy> hierarchies(const std::string& root, std::string_view cgroup,
                                   const std::vector<MountEntry>& mounts) {
  std::vector<Hierarchy> found;
  for (const std::string_view line : split(cgroup, '\n')) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view names = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    const std::vector<std::string_view> controllers = split(names, ',');
    for (const MountEntry& mount : mounts) {
      if (names.empty()) {
        if (mount.filesystem != "cgroup2") continue;
      } else {
        if (mount.filesystem != "cgroup") continue;
        const auto options = split(mount.options, ',');
        if (std::find(options.begin(), options.end(), controllers[0]) == options.end()) continue;
      }
      // A container often sees its own group as the mount's root: only what lies below that root has a directory.
      const std::string_view mount_root = mount.root == "/" ? std::string_view{} : mount.root;
      std::string_view below = group.starts_with(mount_root) ? group.substr(mount_root.size()) : std::string_view{};
      if (below == "/" || !below.starts_with('/') || below.starts_with("/..")) below = {};
      found.push_back({names.empty(), controllers, root + mount.point, std::string(below)});
      break;
    }
  }
  return found;
}

struct CgroupLimits {
  double quota = std::numeric_limits<double>::infinity();
  std::size_t memory = kNoLimit;
  std::size_t memory_left = kNoLimit;
  std::optional<std::set<int>> cpuset;
};

void limit_cpu(const Hierarchy& hierarchy, const std::string& directory, CgroupLimits& limits) {
  std::optional<std::uint64_t> quota;
  std::optional<std::uint64_t> period;
  if (hierarchy.v2) {
    const std::string text = read_text(directory + "/cpu.max");  // "quota period" or "max period"
    quota = number(text);
    const std::size_t space = text.find(' ');
    if (space != std::string::npos) period = number(std::string_view(text).substr(space));
  } else {
    quota = number(read_text(directory + "/cpu.cfs_quota_us"));
    period = number(read_text(directory + "/cpu.cfs_period_us"));
  }
  if (!quota || !period || *quota == 0 || *period == 0) return;
  limits.quota = std::min(limits.quota, static_cast<double>(*quota) / static_cast<double>(*period));
}

void limit_memory(const Hierarchy& hierarchy, const std::string& directory, CgroupLimits& limits) {
  const auto limit = number(read_text(directory + (hierarchy.v2 ? "/memory.max" : "/memory.limit_in_bytes")));
  if (!limit) return;
  limits.memory = std::min<std::size_t>(limits.memory, *limit);
  // Pages of files that were not used lately count as usage, yet go as soon as somebody asks.
  const auto used = number(read_text(directory + (hierarchy.v2 ? "/memory.current" : "/memory.usage_in_bytes")));
  const std::string stat = read_text(directory + "/memory.stat");
  const auto idle = number(field(stat, hierarchy.v2 ? "inactive_file" : "total_inactive_file").value_or(""));
  const std::uint64_t held = used.value_or(0) - std::min(used.value_or(0), idle.value_or(0));
  limits.memory_left = std::min<std::size_t>(limits.memory_left, *limit - std::min(*limit, held));
}

CgroupLimits cgroup_limits(const std::string& root) {
  const std::string cgroup = read_text(root + "/proc/self/cgroup");
  const std::vector<MountEntry> mounts = parse_mount_info(read_text(root + "/proc/self/mountinfo"));
  CgroupLimits limits;
  for (const Hierarchy& hierarchy : hierarchies(root, cgroup, mounts)) {
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
    const auto ranks = number(text != nullptr ? text : "");
    if (ranks && *ranks >= 1 && *ranks <= 65536) return static_cast<int>(*ranks);
  }
  return 1;
}

}  // namespace

std::set<int> scheduler_affinity(const MachineSource& source, MaskOf whose) {
  const char* const of = whose == MaskOf::kThread ? "/proc/thread-self/status" : "/proc/self/status";
  std::set<int> cpus = cpu_list(field(read_text(source.root + of), "Cpus_allowed_list").value_or(""));
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
    const auto value = number(field(meminfo, key).value_or(""));
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
  for (const std::string_view line : split(stat, '\n')) {
    // cpu<number> user nice system idle iowait …
    if (!line.starts_with("cpu") || line.size() < 5 || line[3] == ' ') continue;
    const std::vector<std::string_view> fields = split(line.substr(3), ' ');
    const auto cpu = number(fields[0]);
    if (fields.size() < 6 || !cpu || !cpus.contains(static_cast<int>(*cpu))) continue;
    ticks += number(fields[4]).value_or(0) + number(fields[5]).value_or(0);
  }
  return ticks * 1'000'000'000 / static_cast<std::uint64_t>(sysconf(_SC_CLK_TCK));
}

}  // namespace drapps
