// Who is woken by what.
//
// Workers sleep on one futex, BoardHeader::work. Each sleeps under a bit of its own, and under kAnyone while it takes
// work. What happens is written first, then counted in `work`, then woken for: who looked before it was written finds
// `work` changed, and looks again.
#pragma once

#include <cstdint>

#include "drapps/shm/futex.h"
#include "drapps/worker/board_memory.h"

namespace drapps {

inline constexpr std::uint32_t kAnyone = std::uint32_t{1} << 31;

/// A process's own bit. Two processes may share one, and wake for nothing.
inline std::uint32_t mask_of(std::uint32_t number) noexcept { return std::uint32_t{1} << (number % 31); }

inline void wake_workers(const BoardMemory& memory, int most = INT_MAX, std::uint32_t mask = kEveryone) noexcept {
  memory.header().work.fetch_add(1);
  futex_wake(memory.header().work, most, mask);
}

/// Tells a process that something about its tasks has changed.
inline void wake(const BoardMemory& memory, std::uint32_t number) noexcept {
  if (number >= memory.max_processes()) return;  // from a word that others write
  memory.process(number).wakeups.fetch_add(1);
  wake_workers(memory, INT_MAX, mask_of(number));
}

/// Tells a task's owner, if there is one.
inline void wake_owner(const BoardMemory& memory, const TaskEntry& task) noexcept {
  // After whatever is to be told: a process that becomes the owner later finds it without being told.
  if (const Word word = Word::of(task.word.load()); word.state == kTaskOwned) wake(memory, word.process);
}

/// Tells the parent that a task came to an end.
inline void announce(const BoardMemory& memory) noexcept {
  memory.header().events.fetch_add(1);
  futex_wake(memory.header().events);
}

}  // namespace drapps
