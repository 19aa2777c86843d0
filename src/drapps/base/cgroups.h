// The cgroups of a process, v1 and v2, as directories to read.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drapps {

/// One cgroup hierarchy as this process sees it.
struct CgroupHierarchy {
  bool v2 = false;
  std::vector<std::string> controllers;  // v1 only
  std::string mount;                     // directory of the hierarchy's visible root
  std::string path;                      // of the process's group, below `mount`: "" or "/a/b"

  bool has(std::string_view controller) const noexcept;
  /// The directories from the process's group up to the mount point.
  std::vector<std::string> directories() const;
};

/// @param root  put before the directories.
/// @param cgroup  the text of /proc/self/cgroup ("id:controllers:path").
/// @param mount_info  the text of /proc/self/mountinfo.
std::vector<CgroupHierarchy> cgroup_hierarchies(const std::string& root, std::string_view cgroup,
                                                std::string_view mount_info);

}  // namespace drapps
