// Any text at all gives mounts whose points are absolute, and each point lies on a mount of that point.
#include <cstdint>
#include <cstdlib>

#include "drapps/base/mount_info.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto mounts = drapps::parse_mount_info({reinterpret_cast<const char*>(data), size});
  for (const drapps::MountEntry& mount : mounts) {
    const drapps::MountEntry* const entry = drapps::mount_of(mounts, mount.point);
    if (!mount.point.starts_with('/') || entry == nullptr || entry->point != mount.point) std::abort();
  }
  if (drapps::mount_of(mounts, "relative") != nullptr) std::abort();
  return 0;
}
