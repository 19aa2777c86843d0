// A small file of procfs, sysfs or a cgroup, kept open and read anew at each look.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/unique_handle.h"

namespace drapps {

/// Before which nothing that is missing is looked for again.
inline constexpr std::uint64_t kTryAgainNs = 60'000'000'000;

class SystemFile {
 public:
  /// Opens nothing yet.
  explicit SystemFile(std::string path) : path_(std::move(path)) {}

  /// All of its text as of now, which stays until the next call. Nothing where it cannot be opened or read: then it is
  /// closed, and opened again a minute later at the earliest.
  /// @param now_ns  of monotonic_ns().
  std::optional<std::string_view> read(std::uint64_t now_ns);

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  UniqueHandle file_{};
  std::uint64_t try_again_ns_ = 0;
  std::vector<char> text_{};
};

}  // namespace drapps
