// A small file of procfs, sysfs or a cgroup, read anew at each look.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drapps {

/// Time before which nothing that is missing is looked for again.
inline constexpr std::uint64_t kTryAgainNs = 60'000'000'000;

class SystemFile {
 public:
  explicit SystemFile(std::string path) : path_(std::move(path)) {}

  /// All of its text as of now, which stays until the next call. Nothing where it cannot be opened or read: then that
  /// is tried again a minute later at the earliest. No descriptor is held between the calls, so that loaders leave none
  /// behind; to open and close one takes 4 µs.
  /// @param now_ns  of monotonic_ns().
  std::optional<std::string_view> read(std::uint64_t now_ns);

  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
  std::uint64_t try_again_ns_ = 0;
  std::vector<char> text_{};
};

}  // namespace drapps
