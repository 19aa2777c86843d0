// What is mounted where, from the text of /proc/self/mountinfo (proc_pid_mountinfo(5)).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace drapps {

struct MountEntry {
  std::string root;        // what of the file system is mounted: "/", or the path of a directory in it
  std::string point;       // where; absolute
  std::string filesystem;  // its type: "ext4", "nfs4"
  std::string device;      // what it was mounted from: "/dev/sda1", "server:/export"
  std::string options;     // of the file system itself, with commas between
  std::string number;      // of the device, "major:minor"; major 0 where it is none of its own
};

/// The mounts, in the order of the text. A line that describes no mount is left out.
std::vector<MountEntry> parse_mount_info(std::string_view text);

/// The mount on which `path` lies: the longest mount point that leads to it, and of several at one point the last,
/// which hides the others. Null where there is none.
/// @param path  absolute, without symbolic links, "." and "..".
const MountEntry* mount_of(const std::vector<MountEntry>& mounts, std::string_view path) noexcept;

}  // namespace drapps
