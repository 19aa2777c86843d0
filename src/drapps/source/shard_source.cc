#include "drapps/source/shard_source.h"

#include <algorithm>
#include <utility>

namespace drapps {
namespace {

Status check(const ShardRanges& ranges, const char* what, const std::vector<FileIdentity>& shards) {
  if (ranges.offset.size() != ranges.size() || ranges.length.size() != ranges.size()) {
    return invalid(std::string("the columns of ") + what + " have " + std::to_string(ranges.size()) + ", " +
                   std::to_string(ranges.offset.size()) + " and " + std::to_string(ranges.length.size()) +
                   " entries; give as many of each");
  }
  for (std::uint64_t i = 0; i < ranges.size(); ++i) {
    const std::uint64_t size = ranges.shard[i] < shards.size() ? shards[ranges.shard[i]].size : 0;
    if (ranges.offset[i] > size || ranges.length[i] > size - ranges.offset[i]) {
      return invalid("record " + std::to_string(i) + " of " + what + " does not lie in its shard " +
                     std::to_string(ranges.shard[i]) + "; list the shards anew");
    }
  }
  return ok_status();
}

}  // namespace

Result<std::unique_ptr<ShardSource>> ShardSource::make(PathList shards, const std::vector<FileIdentity>& identities,
                                                       ShardRanges images, ShardRanges masks, Targets targets) {
  if (identities.size() != shards.size()) {
    return invalid("there are " + std::to_string(identities.size()) + " identities for " +
                   std::to_string(shards.size()) + " shards; give one per shard");
  }
  DRAPPS_RETURN_IF_ERROR(check(images, "the images", identities));
  DRAPPS_RETURN_IF_ERROR(check(masks, "the masks", identities));
  if (masks.size() != 0 && masks.size() != images.size()) {
    return invalid("there are " + std::to_string(masks.size()) + " masks for " + std::to_string(images.size()) +
                   " images; give one per image");
  }
  DRAPPS_RETURN_IF_ERROR(targets.check(images.size()));
  auto files = std::make_unique<Shard[]>(identities.size());
  for (std::size_t i = 0; i < identities.size(); ++i) files[i].set_identity(identities[i]);
  return std::unique_ptr<ShardSource>(
      new ShardSource(std::move(shards), std::move(files), std::move(images), std::move(masks), std::move(targets)));
}

ShardSource::ShardSource(PathList paths, std::unique_ptr<Shard[]> shards, ShardRanges images, ShardRanges masks,
                         Targets targets)
    : Source(images.size(), picture_parts(masks.size() != 0), std::move(targets)),
      paths_(std::move(paths)),
      shards_(std::move(shards)),
      images_(std::move(images)),
      masks_(std::move(masks)) {
  for (std::uint64_t i = 0; i < size(); ++i) remember_bytes(i, images_.length[i]);
}

Location ShardSource::locate(std::uint64_t index, RecordPart part) const noexcept {
  const ShardRanges& of = ranges(part);
  const std::uint32_t shard = of.shard[index];
  return {.path = paths_[shard],
          .bytes = {},
          .shard = &shards_[shard],
          .offset = of.offset[index],
          .length = of.length[index]};
}

std::string ShardSource::name(std::uint64_t index, RecordPart part) const {
  const Location at = locate(index, part);
  return std::string(at.path) + "[" + std::to_string(at.offset) + ":" + std::to_string(at.offset + at.length) + "]";
}

}  // namespace drapps
