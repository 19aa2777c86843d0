// The memory that the processes of one board share: one sparse memfd.
//
// It is far larger than what is ever used: each process allocates in a region of its own that could take more than the
// machine's RAM. Each process maps what it needs of it. Pages exist from the first touch until they are punched out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "drapps/base/result.h"
#include "drapps/shm/blocks.h"
#include "drapps/worker/layout.h"

namespace drapps {

/// What one process has of the memory. All members may be called from any thread.
class BoardMemory final : public BlockRegions {
 public:
  /// A new memory for a parent and up to `max_processes` workers.
  /// @param region_bytes  of each region; 0: 16 TiB. Where the system has no files of that size, it is halved, down to
  ///                      256 MiB.
  /// kInvalidArgument for numbers out of range, kResourceExhausted where the system has no such memory.
  static Result<std::shared_ptr<BoardMemory>> make(std::uint32_t max_processes, std::uint32_t max_tasks,
                                                   std::uint64_t region_bytes = 0);
  /// The memory that `fd` refers to once more. `fd` stays the caller's, and need not stay open.
  static Result<std::shared_ptr<BoardMemory>> attach(int fd);
  /// Where it was made, and no process is attached, gives back all but results: who holds one may do so for long.
  ~BoardMemory() override;

  /// The memfd.
  int fd() const noexcept { return file().fd(); }

  BoardHeader& header() const noexcept { return *reinterpret_cast<BoardHeader*>(books().data()); }
  std::uint32_t max_processes() const noexcept { return max_processes_; }
  std::uint32_t max_tasks() const noexcept { return max_tasks_; }
  ProcessEntry& process(std::uint32_t number) const noexcept { return processes_[number]; }
  TaskEntry& task_at(std::uint32_t index) const noexcept { return tasks_[index]; }
  TaskEntry& task(std::uint64_t ticket) const noexcept { return tasks_[ticket % max_tasks_]; }

  /// Bytes that are backed by pages.
  std::uint64_t resident() const noexcept { return file().resident(); }

 private:
  BoardMemory(Mapping books, SharedFile file, const BoardGeometry& geometry, bool creator);

  void punch_all_but_results(std::uint32_t region) const;

  const bool creator_;  // it was made here, not attached to
  const std::uint32_t max_processes_;
  const std::uint32_t max_tasks_;
  ProcessEntry* const processes_;
  TaskEntry* const tasks_;
};

}  // namespace drapps
