#include "drapps/base/mount_info.h"

#include <array>
#include <cstddef>

#include "drapps/base/system_text.h"

namespace drapps {
namespace {

constexpr std::size_t kNumber = 2, kRoot = 3, kPoint = 4, kFirstTag = 6;  // fields of a line, by their place

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

bool leads_to(std::string_view point, std::string_view path) noexcept {
  return path.starts_with(point) && (point == "/" || path.size() == point.size() || path[point.size()] == '/');
}

}  // namespace

std::vector<MountEntry> parse_mount_info(std::string_view text) {
  std::vector<MountEntry> mounts;
  while (!text.empty()) {
    // id parent major:minor root point options [tag…] - type device options-of-the-file-system
    std::string_view line = take_until(text, '\n');
    std::array<std::string_view, kFirstTag> fields;
    for (std::string_view& field : fields) field = take_until(line, ' ');
    if (!fields[kRoot].starts_with('/') || !fields[kPoint].starts_with('/')) continue;
    bool behind_tags = false;
    while (!behind_tags && !line.empty()) behind_tags = take_until(line, ' ') == "-";
    const std::string_view type = take_until(line, ' ');
    if (!behind_tags || type.empty()) continue;
    const std::string_view device = take_until(line, ' ');
    mounts.push_back({.root = decoded(fields[kRoot]),
                      .point = decoded(fields[kPoint]),
                      .filesystem = decoded(type),
                      .device = decoded(device),
                      .options = decoded(take_until(line, ' ')),
                      .number = std::string(fields[kNumber])});
  }
  return mounts;
}

const MountEntry* mount_of(const std::vector<MountEntry>& mounts, std::string_view path) noexcept {
  const MountEntry* longest = nullptr;
  for (const MountEntry& mount : mounts) {
    if (!leads_to(mount.point, path)) continue;
    if (longest == nullptr || mount.point.size() >= longest->point.size()) longest = &mount;
  }
  return longest;
}

}  // namespace drapps
