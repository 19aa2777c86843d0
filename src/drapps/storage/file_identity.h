// What tells whether a file was changed under a reader, or since it was read.
#pragma once

#include <sys/stat.h>

#include <cstdint>

namespace drapps {

/// What makes a file the same file as before. For memory: its size, and zeros.
struct FileIdentity {
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

/// The finaliser of splitmix64: every bit of the input moves every bit of the result.
constexpr std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

FileIdentity identity_of(const struct stat& status) noexcept;

/// What stands in a file as far as its attributes tell: a number of its size, inode and times, that of the last change
/// of its attributes among them, which no program sets back. kUnknownState where it was changed less than 20 ms ago,
/// when a further change may leave all of them as they are.
inline constexpr std::uint64_t kUnknownState = 0;
std::uint64_t state_of(const struct stat& status) noexcept;

}  // namespace drapps
