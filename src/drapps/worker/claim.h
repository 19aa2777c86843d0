// Which work a process takes next.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "drapps/shm/word.h"
#include "drapps/worker/board_memory.h"

namespace drapps {

/// A task that this process owns now, or one piece of another's that it runs now.
struct Claim {
  TaskEntry* task;
  std::uint64_t ticket;
  std::int32_t piece;  // -1: the task
};

/// Takes work in this order, the lowest ticket first:
///   1. an open task that is pinned to this process;
///   2. an urgent task: all of it where it is open, its last free piece where another owns it;
///   3. an open task;
///   4. the last free piece of a task that another owns.
/// Owners work from a task's front and thieves from its back, so they meet once. Nothing is stolen from a pinned or a
/// cancelled task. One thread's.
class Claimer {
 public:
  Claimer(const BoardMemory& memory, std::uint32_t number) : memory_(memory), number_(number) {}
  std::optional<Claim> claim();

 private:
  struct TaskCandidate {
    std::uint32_t rank;
    Word word;
    TaskEntry* task;
  };

  void look();
  bool claim_task(TaskEntry& task, Word word) const;
  std::int32_t claim_piece(TaskEntry& task, std::uint64_t ticket) const;

  const BoardMemory& memory_;
  const std::uint32_t number_;
  std::vector<TaskCandidate> candidates_;
};

}  // namespace drapps
