#include "drapps/base/mount_info.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace drapps {
namespace {

constexpr std::size_t kRoot = 3, kPoint = 4, kFirstTag = 6;  // fields of a line, by their place

bool octal(char digit) noexcept { return digit >= '0' && digit <= '7'; }

/// Spaces, tabs, line feeds and backslashes stand as a backslash and three octal digits.
std::string decoded(std::string_view field) {
  std::string text;
  text.reserve(field.size());
  for (std::size_t i = 0; i < field.size(); ++i) {
    const bool escape = field[i] == '\\' && i + 3 < field.size() && field[i + 1] <= '3' && octal(field[i + 1]) &&
                        octal(field[i + 2]) && octal(field[i + 3]);
    if (escape) {
      text += static_cast<char>((field[i + 1] - '0') * 64 + (field[i + 2] - '0') * 8 + (field[i + 3] - '0'));
      i += 3;
    } else {
      text += field[i];
    }
  }
  return text;
}

/// Takes what stands before the next separator off `text`.
std::string_view next(std::string_view& text, char separator) noexcept {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view part = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

bool leads_to(std::string_view point, std::string_view path) noexcept {
  return path.starts_with(point) && (point == "/" || path.size() == point.size() || path[point.size()] == '/');
}

}  // namespace

std::vector<MountEntry> parse_mount_info(std::string_view text) {
  std::vector<MountEntry> mounts;
  while (!text.empty()) {
    // id parent major:minor root point options [tag…] - type device options-of-the-file-system
    std::string_view line = next(text, '\n');
    std::array<std::string_view, kFirstTag> fields;
    for (std::string_view& field : fields) field = next(line, ' ');
    if (!fields[kRoot].starts_with('/') || !fields[kPoint].starts_with('/')) continue;
    bool behind_tags = false;
    while (!behind_tags && !line.empty()) behind_tags = next(line, ' ') == "-";
    const std::string_view type = next(line, ' ');
    if (!behind_tags || type.empty()) continue;
    const std::string_view device = next(line, ' ');
    mounts.push_back({.root = decoded(fields[kRoot]),
                      .point = decoded(fields[kPoint]),
                      .filesystem = decoded(type),
                      .device = decoded(device),
                      .options = decoded(next(line, ' '))});
  }
  return mounts;
}

const MountEntry* mount_of(const std::vector<MountEntry>& mounts, std::string_view path) noexcept {
  const MountEntry* found = nullptr;
  for (const MountEntry& mount : mounts) {
    if (!leads_to(mount.point, path)) continue;
    if (found == nullptr || mount.point.size() >= found->point.size()) found = &mount;
  }
  return found;
}

}  // namespace drapps
