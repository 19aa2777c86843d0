// The memory that the processes of one engine share: one sparse memfd, mapped by each of them.
//
// It is far larger than what is ever used: each process allocates in a region of its own that could take all of the
// machine's RAM. Pages exist from the first touch until they are punched out.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "drapps/base/result.h"
#include "drapps/base/unique_handle.h"
#include "drapps/worker/layout.h"

namespace drapps {

/// One mapping. All of it may be called from any thread; a handle keeps the mapping alive by its shared_ptr.
class Memory {
 public:
  /// A new memory for a parent and up to `max_processes` workers.
  /// @param region_bytes  of each region; 0: the machine's RAM, rounded up to a power of two, but not more than 8 TiB
  ///                      in all. Where the system refuses so much, it is halved, down to 256 MiB.
  /// kInvalidArgument for numbers out of range, kResourceExhausted where the system has no such memory.
  static Result<std::shared_ptr<Memory>> make(std::uint32_t max_processes, std::uint32_t max_tasks,
                                              std::uint64_t region_bytes = 0);
  /// Maps the memory that `fd` refers to once more. `fd` stays the caller's, and need not stay open.
  static Result<std::shared_ptr<Memory>> attach(int fd);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  /// The memfd in the process that made it, -1 elsewhere.
  int fd() const noexcept { return fd_.get(); }
  /// Whether this is the process that mapped it, not a child of that.
  bool mine() const noexcept;

  Header& header() const noexcept { return *reinterpret_cast<Header*>(base_); }
  std::uint32_t max_processes() const noexcept { return max_processes_; }
  std::uint32_t max_tasks() const noexcept { return max_tasks_; }
  std::uint64_t region_bytes() const noexcept { return region_bytes_; }
  ProcessEntry& process(std::uint32_t slot) const noexcept { return processes_[slot]; }
  TaskEntry& task_at(std::uint32_t index) const noexcept { return tasks_[index]; }
  TaskEntry& task(std::uint64_t ticket) const noexcept { return tasks_[ticket % max_tasks_]; }
  /// Of region 0, the parent's, or slot + 1.
  RegionEntry& region(std::uint32_t region) const noexcept { return regions_[region]; }
  std::uint64_t region_begin(std::uint32_t region) const noexcept { return data_offset_ + region * region_bytes_; }
  std::uint64_t region_end(std::uint32_t region) const noexcept { return region_begin(region + 1); }
  std::uint32_t region_of(std::uint64_t offset) const noexcept {
    return static_cast<std::uint32_t>((offset - data_offset_) / region_bytes_);
  }

  std::byte* at(std::uint64_t offset) const noexcept { return base_ + offset; }
  BlockHeader& block(std::uint64_t block) const noexcept { return *reinterpret_cast<BlockHeader*>(base_ + block); }
  std::byte* data_of(std::uint64_t block) const noexcept { return base_ + block + sizeof(BlockHeader); }
  std::uint64_t offset_of(const std::byte* data) const noexcept { return static_cast<std::uint64_t>(data - base_); }

  /// Gives the whole pages within [begin, end) back to the system; they read as zeros afterwards.
  void punch(std::uint64_t begin, std::uint64_t end) const noexcept;
  /// Bytes that are backed by pages. Requires fd() >= 0.
  std::uint64_t resident() const noexcept;

  /// Threads of this process that are releasing a block of a region right now.
  std::atomic<std::uint32_t>& releasing(std::uint32_t region) const noexcept { return releasing_[region]; }

 private:
  Memory(std::byte* base, const Geometry& geometry, UniqueHandle fd);

  std::byte* const base_;
  const UniqueHandle fd_;
  const pid_t mapper_;
  const std::uint64_t bytes_;
  const std::uint32_t max_processes_;
  const std::uint32_t max_tasks_;
  const std::uint64_t region_bytes_;
  const std::uint64_t data_offset_;
  ProcessEntry* const processes_;
  RegionEntry* const regions_;
  TaskEntry* const tasks_;
  const std::unique_ptr<std::atomic<std::uint32_t>[]> releasing_;
};

}  // namespace drapps
