// Files that hold many records, and stay open.
//
// 1. A shard is known by its identity, taken when its records were listed. Every read compares it, so a shard that has
//    changed since is an error, never other bytes.
// 2. Opening a file costs as much as reading a small record from a warm cache, and a round trip on network storage. So
//    the first shards that are opened stay open, up to kept_shards_limit() in the process, and none is closed for
//    another: under a fresh permutation each epoch, evicting would only lower the share of reads that find theirs open.
#pragma once

#include <atomic>
#include <cstdint>

#include "drapps/storage/file_identity.h"

namespace drapps {

/// One shard; may be used from any thread.
class Shard {
 public:
  Shard() noexcept = default;
  ~Shard();
  Shard(const Shard&) = delete;
  Shard& operator=(const Shard&) = delete;

  const FileIdentity& identity() const noexcept { return identity_; }
  void set_identity(const FileIdentity& identity) noexcept { identity_ = identity; }  // before its first use

  /// Open for reading at any offset, or negative. Valid as long as the shard; not the caller's to close.
  int descriptor() const noexcept { return descriptor_.load(std::memory_order_acquire); }
  /// Takes `fd`, which is open on this shard, to keep it. False where one is kept already, or about to be, or too many
  /// are: then `fd` stays the caller's.
  bool keep(int fd) noexcept;

  /// What identifies the record [offset, offset + length): it changes with the shard.
  FileIdentity record_identity(std::uint64_t offset, std::uint64_t length) const noexcept;

 private:
  static constexpr int kNone = -1;
  static constexpr int kDeciding = -2;  // a thread is about to keep one

  FileIdentity identity_;
  std::atomic<int> descriptor_{kNone};
};

/// Shards of all sources that this process keeps open at most: 128, or an eighth of the limit on open files (ulimit -n)
/// where that is less.
int kept_shards_limit() noexcept;

}  // namespace drapps
