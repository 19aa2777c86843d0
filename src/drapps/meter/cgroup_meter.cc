#include "drapps/meter/cgroup_meter.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "drapps/base/cgroups.h"
#include "drapps/base/system_text.h"
#include "drapps/meter/summary.h"

namespace drapps {
namespace {

constexpr std::size_t kMostGroups = 16;                     // groups from one of the process's up to the root
constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;  // v1 has a number near 2^63 for none

}  // namespace

struct CgroupMeter::CpuGroup {
  explicit CpuGroup(const std::string& folder, bool v2)
      : key(v2 ? "throttled_usec" : "throttled_time"), stat(folder + "/cpu.stat"), throttled(v2 ? 1e-6 : 1e-9) {}

  struct ThrottleReadings {
    Reading throttled, periods;
  };
  ThrottleReadings read(std::uint64_t now_ns) {
    const std::string_view text = stat.read(now_ns).value_or("");
    const Reading ran = periods.read(number_field(text, "nr_periods"), now_ns);
    Reading share = throttled_periods.read(number_field(text, "nr_throttled"), now_ns);
    share.valid = share.valid && ran.valid;
    share.value = share.valid && ran.value > 0 ? std::min(share.value / ran.value, 1.0) : 0;
    return {.throttled = throttled.read(number_field(text, key), now_ns), .periods = share};
  }

  std::string_view key;
  SystemFile stat;
  Rate throttled;
  Rate periods{}, throttled_periods{};
};

struct CgroupMeter::MemoryGroup {
  MemoryGroup(const std::string& folder, bool v2_group)
      : v2(v2_group),
        used(folder + (v2 ? "/memory.current" : "/memory.usage_in_bytes")),
        limit(folder + (v2 ? "/memory.max" : "/memory.limit_in_bytes")),
        events(folder + (v2 ? "/memory.events" : "/memory.failcnt")),
        kills_file(folder + "/memory.oom_control") {}

  struct LimitReadings {
    std::optional<std::uint64_t> used, limit;
    Reading hits, kills;
  };
  /// @param own  whether the process is in this group, and not in one below.
  LimitReadings read(std::uint64_t now_ns, bool own) {
    LimitReadings seen;
    seen.limit = leading_number(limit.read(now_ns).value_or(""));
    if (seen.limit.value_or(0) >= kNoLimit) {
      seen.limit.reset();
      if (!own && !v2) return seen;  // it holds nothing back, and the process is none of those whose kills it counts
    }
    seen.used = leading_number(used.read(now_ns).value_or(""));
    const std::string_view text = events.read(now_ns).value_or("");
    if (v2) {
      std::optional<std::uint64_t> reached = number_field(text, "max");
      if (reached) *reached += number_field(text, "high").value_or(0);
      seen.hits = hits.read(reached, now_ns);
      seen.kills = kills.read(number_field(text, "oom_kill"), now_ns);
    } else {
      seen.hits = hits.read(leading_number(text), now_ns);
      seen.kills = kills.read(number_field(kills_file.read(now_ns).value_or(""), "oom_kill"), now_ns);
    }
    return seen;
  }

  bool v2;
  SystemFile used, limit, events;
  SystemFile kills_file;  // v1 alone
  Rate hits{}, kills{};
};

CgroupMeter::CgroupMeter(std::string root) : root_(std::move(root)), own_(root_ + "/proc/self/cgroup") {}
CgroupMeter::~CgroupMeter() = default;

CgroupReadings CgroupMeter::read(std::uint64_t now_ns) {
  const std::string_view own = own_.read(now_ns).value_or("");
  if (own != seen_) {
    seen_ = own;
    find_groups(now_ns);
  }
  CgroupReadings seen;
  Summary throttled, periods, hits, kills;
  for (CpuGroup& group : cpu_) {
    const CpuGroup::ThrottleReadings now = group.read(now_ns);
    throttled.add(now.throttled);
    periods.add(now.periods);
  }
  std::uint64_t least = kNoLimit;
  for (MemoryGroup& group : memory_) {
    const MemoryGroup::LimitReadings now = group.read(now_ns, &group == memory_.data());
    hits.add(now.hits);
    kills.add(now.kills);
    if (!now.used) continue;
    if (now.limit) {
      const std::uint64_t left = *now.limit - std::min(*now.limit, *now.used);
      if (seen.memory_limit.valid && left >= least) continue;
      least = left;
      seen.memory_limit = reading(static_cast<double>(*now.limit), now_ns);
    } else if (seen.memory_used.valid) {
      continue;
    }
    seen.memory_used = reading(static_cast<double>(*now.used), now_ns);
  }
  seen.throttled = throttled.max(now_ns);
  seen.throttled_periods = periods.max(now_ns);
  seen.memory_hits = hits.max(now_ns);
  seen.memory_kills = kills.max(now_ns);
  if (!pressure_.empty()) {
    seen.cpu_pressure = pressure_[0].read(now_ns).some;
    seen.memory_pressure = pressure_[1].read(now_ns).some;
    seen.io_pressure = pressure_[2].read(now_ns).some;
  }
  return seen;
}

void CgroupMeter::find_groups(std::uint64_t now_ns) {
  cpu_.clear();
  memory_.clear();
  pressure_.clear();
  SystemFile mounts(root_ + "/proc/self/mountinfo");
  for (const CgroupHierarchy& group : cgroup_hierarchies(root_, seen_, mounts.read(now_ns).value_or(""))) {
    std::vector<std::string> folders = group.directories();
    if (group.v2 && pressure_.empty()) {
      for (const char* file : {"/cpu.pressure", "/memory.pressure", "/io.pressure"}) {
        pressure_.emplace_back(folders.front() + file);
      }
    }
    folders.resize(std::min(folders.size(), kMostGroups));
    for (const std::string& folder : folders) {
      if (group.has("cpu")) cpu_.emplace_back(folder, group.v2);
      if (group.has("memory")) memory_.emplace_back(folder, group.v2);
    }
  }
}

}  // namespace drapps
