#include "drapps/base/cgroups.h"

#include <algorithm>

#include "drapps/base/mount_info.h"
#include "drapps/base/system_text.h"

namespace drapps {

bool CgroupHierarchy::has(std::string_view controller) const noexcept {
  return v2 || std::find(controllers.begin(), controllers.end(), controller) != controllers.end();
}

std::vector<std::string> CgroupHierarchy::directories() const {
  std::vector<std::string> all;
  for (std::string below = path; !below.empty(); below.resize(below.rfind('/'))) all.push_back(mount + below);
  all.push_back(mount);
  return all;
}

std::vector<CgroupHierarchy> cgroup_hierarchies(const std::string& root, std::string_view cgroup,
                                                std::string_view mount_info) {
  const std::vector<MountEntry> mounts = parse_mount_info(mount_info);
  std::vector<CgroupHierarchy> hierarchies;
  for (std::string_view line : split_text(cgroup, '\n')) {
    if (std::count(line.begin(), line.end(), ':') < 2) continue;
    take_until(line, ':');
    const std::string_view names = take_until(line, ':');
    const std::string_view group = line;
    const std::vector<std::string_view> controllers = split_text(names, ',');
    for (const MountEntry& mount : mounts) {
      if (names.empty()) {
        if (mount.filesystem != "cgroup2") continue;
      } else {
        if (mount.filesystem != "cgroup") continue;
        const auto options = split_text(mount.options, ',');
        if (std::find(options.begin(), options.end(), controllers[0]) == options.end()) continue;
      }
      // A container often sees its own group as the mount's root: only what lies below that root has a directory.
      const std::string_view mount_root = mount.root == "/" ? std::string_view{} : mount.root;
      std::string_view below = group.starts_with(mount_root) ? group.substr(mount_root.size()) : std::string_view{};
      if (below == "/" || !below.starts_with('/') || below.starts_with("/..")) below = {};
      hierarchies.push_back(
          {names.empty(), {controllers.begin(), controllers.end()}, root + mount.point, std::string(below)});
      break;
    }
  }
  return hierarchies;
}

}  // namespace drapps
