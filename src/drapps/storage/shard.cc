#include "drapps/storage/shard.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

namespace drapps {
namespace {

constexpr int kMostKept = 128;

std::atomic<int> g_kept{0};

bool take_place() noexcept {
  int kept = g_kept.load(std::memory_order_relaxed);
  while (kept < kept_shards_limit()) {
    if (g_kept.compare_exchange_weak(kept, kept + 1, std::memory_order_relaxed)) return true;
  }
  return false;
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
  // Who opens it first decides, so that a place that is taken is never given back: others would be refused meanwhile.
  int none = kNone;
  if (!descriptor_.compare_exchange_strong(none, kDeciding, std::memory_order_relaxed)) return false;
  if (!take_place()) {
    descriptor_.store(kNone, std::memory_order_relaxed);
    return false;
  }
  (void)::fcntl(fd, F_SETFL, 0);  // O_NONBLOCK was for opening; io_uring would fail a read that has to wait
  descriptor_.store(fd, std::memory_order_release);
  return true;
}

FileIdentity Shard::record_identity(std::uint64_t offset, std::uint64_t length) const noexcept {
  return {.size = length,
          .mtime_ns = identity_.mtime_ns,
          .inode = mixed(identity_.inode ^ mixed(identity_.size ^ mixed(offset)))};
}

}  // namespace drapps
