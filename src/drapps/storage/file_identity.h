// What tells whether a file was changed under a reader.
#pragma once

#include <cstdint>

namespace drapps {

/// What makes a file the same file as before. For memory: its size, and zeros.
struct FileIdentity {
  std::uint64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

}  // namespace drapps
