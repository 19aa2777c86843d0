// Where the columns of each sample lie in a packed shard: MosaicML's MDS and LitData's chunks.
//
// Both formats are the same to us. A shard holds, in little-endian numbers:
//   1. N, the number of samples: 4 bytes;
//   2. N + 1 offsets in the file, 4 bytes each: sample i lies from offset i to offset i + 1;
//   3. the samples, somewhere behind (MDS has a description of the columns between, LitData may have more at the end).
// A sample is a head of 4 bytes for each column that has no fixed size, the size of its value; then the values of all
// columns, in their order, without gaps. Which columns there are stands in the index.json beside the shards: in MDS
// some have a fixed size, in LitData none has.
// "Dataset Format" in the documentation of MosaicML Streaming; the README of LitData, "Optimize".
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/storage/file_window.h"

namespace drapps {

/// How an integer is written.
enum class PackedInteger : std::uint8_t {
  kSigned,    // 1, 2, 4 or 8 bytes, two's complement
  kUnsigned,  // 1, 2, 4 or 8 bytes
  kDecimal,   // digits
};

/// What to look for in each sample.
struct PackedColumns {
  static constexpr std::int64_t kVariable = -1;
  struct Label {
    std::size_t column = 0;
    PackedInteger integer = PackedInteger::kSigned;
  };
  std::vector<std::int64_t> sizes;  // of all columns in their order, in bytes; or kVariable
  std::size_t image = 0;            // which of the columns
  std::vector<Label> labels;
};

/// One entry per sample in each column.
struct PackedListing {
  std::vector<std::uint64_t> offset;  // of the image in the file
  std::vector<std::uint32_t> length;  // of the image, in bytes
  std::vector<std::vector<std::int64_t>> labels;
};

/// Lists all samples; reads no image. Errors have the offset of what they are about: kTruncated where the file ends
/// before, kCorrupt for offsets, sizes and labels that make no sense, kInvalidArgument for columns that do not exist.
Result<PackedListing> list_packed(FileWindow& file, const PackedColumns& columns);

}  // namespace drapps
