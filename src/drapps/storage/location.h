// Where the bytes of a record's parts lie.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "drapps/data/contents.h"

namespace drapps {

class Shard;  // shard.h

/// A part of a record, by its number.
using RecordPart = std::uint8_t;
inline constexpr RecordPart kFirstPart = 0;
inline constexpr std::size_t kMaxParts = 4;

/// Where one part lies: in memory, in a file of its own, or in a range of a shard.
struct Location {
  const char* path = nullptr;           // NUL-terminated; null for a part in memory
  std::span<const std::uint8_t> bytes;  // of a part in memory
  Shard* shard = nullptr;               // of a part that is a range of the file at `path`; null for a whole file
  std::uint64_t offset = 0;             // of the range, in bytes
  std::uint64_t length = 0;
  Contents contents;  // what the bytes are
};

}  // namespace drapps
