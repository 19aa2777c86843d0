#include "drapps/storage/file_identity.h"

#include <time.h>

#include <algorithm>

namespace drapps {
namespace {

// The kernel's clock for files ticks every 10 ms at the slowest.
constexpr std::int64_t kTickNs = 20'000'000;

constexpr std::int64_t ns_of(const timespec& time) noexcept {
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace

FileIdentity identity_of(const struct stat& status) noexcept {
  return {
      .size = static_cast<std::uint64_t>(status.st_size), .mtime_ns = ns_of(status.st_mtim), .inode = status.st_ino};
}

std::uint64_t state_of(const struct stat& status) noexcept {
  timespec now{};
  (void)::clock_gettime(CLOCK_REALTIME, &now);
  const std::int64_t age = ns_of(now) - ns_of(status.st_ctim);
  if (age >= 0 && age < kTickNs) return kUnknownState;
  std::uint64_t state = 0;
  for (const std::uint64_t part :
       {static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(status.st_ino),
        static_cast<std::uint64_t>(status.st_dev), static_cast<std::uint64_t>(ns_of(status.st_mtim)),
        static_cast<std::uint64_t>(ns_of(status.st_ctim))}) {
    state = mixed(state ^ part) + 0x9E3779B97F4A7C15u;
  }
  return std::max<std::uint64_t>(state, 1);
}

}  // namespace drapps
