// Turns on a core, for threads that prepare data beside threads that train.
#pragma once

#include <chrono>

namespace drapps {

/// Asks the scheduler for long turns on behalf of the calling thread: a thread with shorter ones, as all others have,
/// then takes the core at once when it wakes up, and the shares of CPU time stay what they are. Linux since 6.12
/// (EEVDF, sched_setattr(2)); elsewhere, and for threads with a real-time policy, nothing changes. Threads and
/// processes that the thread starts inherit it.
void take_long_slices() noexcept;

/// The calling thread's turn; zero where the system does not say.
std::chrono::nanoseconds slice() noexcept;

}  // namespace drapps
