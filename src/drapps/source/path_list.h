// Paths of many files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"

namespace drapps {

/// Many paths in one block of bytes: the length of each plus 5 bytes.
class PathList {
 public:
  void reserve(std::size_t paths, std::size_t bytes);
  /// kInvalidArgument where the path is empty, holds a NUL or is longer than the system opens.
  Status append(std::string_view path);
  std::uint64_t size() const noexcept { return offsets_.size(); }
  /// NUL-terminated; valid until the next append.
  const char* operator[](std::uint64_t index) const noexcept {
    return bytes_.data() + bases_[index / kGroup] + offsets_[index];
  }

 private:
  // Offsets are 32 bits from the base of their group; a group of paths, each at most kMaxPath long, never outgrows
  // that.
  static constexpr std::size_t kGroup = 65536;
  std::vector<char> bytes_;
  std::vector<std::uint64_t> bases_;
  std::vector<std::uint32_t> offsets_;
};

}  // namespace drapps
