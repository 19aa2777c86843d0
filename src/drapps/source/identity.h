// What a record is called wherever it is kept: in caches, traces and partitions.
//
// An identity is the same in every process and every run, whatever the record's index, and is found without reading:
//
//   a file               the bytes of its path
//   a range of a shard   the path, the shard's size and modification time when it was listed, offset and length
//   bytes in memory      their content
//   rows of arrays       of each array its dtype, its row's shape and content; of a picture its channels, height, width
//                        and pixels, plane by plane
//
// It says which file, not what stands in it: FileIdentity tells whether a file has changed. Each kind begins with a tag
// of its own, and numbers are 8 bytes, little-endian; what follows is hashed with XXH3-128 (Y. Collet, xxHash 0.8). All
// of this is a format: what was kept under an identity is found under it again.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "drapps/data/array.h"

namespace drapps {

struct Location;  // storage/location.h

struct RecordIdentity {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const RecordIdentity&) const = default;
};

/// The identity as 32 hexadecimal digits.
std::string to_string(const RecordIdentity& identity);

/// The identity of a part that lies at `location`.
RecordIdentity identity_of(const Location& location) noexcept;

/// The identity of what a text says.
RecordIdentity identity_of(std::string_view text) noexcept;

/// The identity of a record that is a row of each array, `row`; `picture` may be null.
RecordIdentity identity_of(std::span<const Array> arrays, const PictureArray* picture, std::uint64_t row) noexcept;

}  // namespace drapps
