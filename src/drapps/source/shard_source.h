// Records inside larger files: each is a range of a shard, its number, an offset and a length, 16 bytes a record.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drapps/source/encoded.h"
#include "drapps/source/source.h"
#include "drapps/storage/shard.h"

namespace drapps {

/// Where records lie, one entry per record in each column.
struct ShardRanges {
  std::vector<std::uint32_t> shard;
  std::vector<std::uint64_t> offset;  // bytes
  std::vector<std::uint32_t> length;  // bytes

  std::uint64_t size() const noexcept { return shard.size(); }
};

/// Encoded images (and masks) inside larger files.
class ShardSource final : public Source {
 public:
  /// @param identities  of the shards when their records were listed, one per path.
  /// @param masks  empty without masks.
  /// kInvalidArgument where counts differ, or a range does not lie in its shard. No file is touched.
  static Result<std::unique_ptr<ShardSource>> make(PathList shards, const std::vector<FileIdentity>& identities,
                                                   ShardRanges images, ShardRanges masks = {}, Targets targets = {});

  Location locate(std::uint64_t index, RecordPart part) const noexcept override;
  /// "path[first:end]", in bytes.
  std::string name(std::uint64_t index, RecordPart part) const override;

 private:
  ShardSource(PathList paths, std::unique_ptr<Shard[]> shards, ShardRanges images, ShardRanges masks, Targets targets);
  const ShardRanges& ranges(RecordPart part) const noexcept { return part == kFirstPart ? images_ : masks_; }

  PathList paths_;
  std::unique_ptr<Shard[]> shards_;
  ShardRanges images_;
  ShardRanges masks_;
};

}  // namespace drapps
