// One call's work, done by its thread and by idle workers of the pool.
#pragma once

#include <cstddef>
#include <functional>

#include "drapps/exec/worker_group.h"

namespace drapps {

/// Calls part(0) to part(parts - 1), each once, and returns when all have returned: on this thread, and on up to
/// `helpers` workers of `group`, fewer where its budget says so or the system makes none. What this thread uses of the
/// CPU is booked in the group's budget, and workers pause for it. `part` throws nothing and is called by several
/// threads at once.
void share_work(WorkerGroup& group, std::size_t parts, std::size_t helpers,
                const std::function<void(std::size_t)>& part) noexcept;

}  // namespace drapps
