// The memory that the processes of one board share: one sparse memfd, mapped by each of them.
//
// It is far larger than what is ever used: each process allocates in a region of its own that could take all of the
// machine's RAM. Pages exist from the first touch until they are punched out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "drapps/base/result.h"
#include "drapps/shm/blocks.h"
#include "drapps/worker/layout.h"

namespace drapps {

/// One mapping. All of it may be called from any thread; a handle keeps the mapping alive by its shared_ptr.
class BoardMemory final : public BlockRegions {
 public:
  /// A new memory for a parent and up to `max_processes` workers.
  /// @param region_bytes  of each region; 0: the machine's RAM, rounded up to a power of two, but not more than 8 TiB
  ///                      in all. Where the system refuses so much, it is halved, down to 256 MiB.
  /// kInvalidArgument for numbers out of range, kResourceExhausted where the system has no such memory.
  static Result<std::shared_ptr<BoardMemory>> make(std::uint32_t max_processes, std::uint32_t max_tasks,
                                                   std::uint64_t region_bytes = 0);
  /// Maps the memory that `fd` refers to once more. `fd` stays the caller's, and need not stay open.
  static Result<std::shared_ptr<BoardMemory>> attach(int fd);

  /// The memfd in the process that made it, -1 elsewhere.
  int fd() const noexcept { return file_ ? file_->fd() : -1; }

  Header& header() const noexcept { return *reinterpret_cast<Header*>(at(0)); }
  std::uint32_t max_processes() const noexcept { return max_processes_; }
  std::uint32_t max_tasks() const noexcept { return max_tasks_; }
  ProcessEntry& process(std::uint32_t number) const noexcept { return processes_[number]; }
  TaskEntry& task_at(std::uint32_t index) const noexcept { return tasks_[index]; }
  TaskEntry& task(std::uint64_t ticket) const noexcept { return tasks_[ticket % max_tasks_]; }

  /// Bytes that are backed by pages; 0 where fd() is -1.
  std::uint64_t resident() const noexcept { return file_ ? file_->resident() : 0; }

 private:
  BoardMemory(Mapping mapping, const Geometry& geometry, std::optional<SharedFile> file);

  const std::optional<SharedFile> file_;
  const std::uint32_t max_processes_;
  const std::uint32_t max_tasks_;
  ProcessEntry* const processes_;
  TaskEntry* const tasks_;
};

}  // namespace drapps
