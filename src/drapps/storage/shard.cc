#include "drapps/storage/shard.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace drapps {
namespace {

constexpr int kMostKept = 128;

std::atomic<int> g_kept{0};

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

}  // namespace drapps
