#include "drapps/source/shard.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace drapps {
namespace {

constexpr int kMostKept = 128;

std::atomic<int> g_kept{0};

/// The finaliser of splitmix64: every bit of the input moves every bit of the result.
std::uint64_t mixed(std::uint64_t x) noexcept {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

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

Shard::~Shard() {
  const int fd = descriptor_.load(std::memory_order_relaxed);
  if (fd < 0) return;
  ::close(fd);
  g_kept.fetch_sub(1, std::memory_order_relaxed);
}

int kept_shards_limit() noexcept {
  static const int limit = [] {
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return 0;
    return static_cast<int>(std::min<rlim_t>(files.rlim_cur / 8, kMostKept));
  }();
  return limit;
}

bool Shard::keep(int fd) noexcept {
  if (g_kept.fetch_add(1, std::memory_order_relaxed) < kept_shards_limit()) {
    (void)::fcntl(fd, F_SETFL, 0);  // O_NONBLOCK was for opening; io_uring would fail a read that has to wait
    int none = -1;
    if (descriptor_.compare_exchange_strong(none, fd, std::memory_order_release, std::memory_order_relaxed)) {
      return true;
    }
  }
  g_kept.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

FileIdentity Shard::record_identity(std::uint64_t offset, std::uint64_t length) const noexcept {
  return {.size = length,
          .mtime_ns = identity_.mtime_ns,
          .inode = mixed(identity_.inode ^ mixed(identity_.size ^ mixed(offset)))};
}

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
