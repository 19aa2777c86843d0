// Samples that found no memory: they wait until others have ended, or are tried with all memory to themselves.
#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/pipeline/executor.h"

namespace drapps {

void Executor::free_memory() noexcept { pool_.free_memory(); }

/// Whether nothing else is under way that would release memory.
bool Executor::alone(const SampleTask& task) const {
  return queues_.alone(task) && ahead_.reading() == 0 && decoding_ == 0;
}

/// Brings a task back to where it was before its bytes were read, with no memory of its own.
void Executor::renew(SampleTask& task) {
  if (task.sample.workspace != nullptr) task.sample.workspace->reset();
  for (Buffer& buffer : task.buffers) buffer.reset();
  task.sample.kept.unpin();
  task.sample.late.reset();
  const Sampler::Row row = task.sample.asked.row;
  task.sample.asked = {.row = row, .record = row.index};
  task.fetch.replacements = 0;
  task.fetch.fresh = true;
  task.late = {};
}

/// Leaves a task until memory may have come back; see resume_starved().
void Executor::set_aside(SampleTask& task) {
  leave(task);
  starvation_.set_aside(task);
}

/// Whether there were any to resume.
bool Executor::resume_starved() {
  return starvation_.resume([this](SampleTask& task) { enter(task); });
}

/// The task has all memory to itself from now on. False where others are under way: it was set aside.
bool Executor::begin_alone(SampleTask& task) {
  free_memory();
  renew(task);
  if (!alone(task)) {
    set_aside(task);
    return false;
  }
  starvation_.begin_alone();
  // What waits was read ahead of need; it is read again.
  for (SampleTask* waiting : queues_.all_entering()) {
    for (Buffer& buffer : waiting->buffers) buffer.reset();
    waiting->sample.late.reset();
    waiting->fetch.fresh = true;
  }
  return true;
}

/// What to do about a task that found no memory. True: it was set aside. False: nothing else was under way, and it was
/// tried again alone with all that is idle released; `status` says how that ended.
bool Executor::starve(SampleTask& task, Status& status) {
  {
    const std::scoped_lock lock(mutex_);
    if (!begin_alone(task)) return true;
  }
  // Asked before, because what has memory now may have ended and released it by the time that this is known to fail.
  const bool crowded = engine_.workers().release_idle(*this) || engine_.ending();
  status = fetch_waiting(task);
  task.fetch.fresh = false;
  if (status.ok()) status = catching([&] { return prepare(task); });
  // And asked again, because another executor may have begun meanwhile.
  const bool shared = exhausted(status) && (crowded || engine_.workers().release_idle(*this) || engine_.ending());

  bool aside = false;
  {
    const std::scoped_lock lock(mutex_);
    starvation_.end_alone();
    const bool front = task.place.step == window_.front();
    const bool awaited = front && window_.awaited(task.place.step);
    const bool waits = Starvation::waits_on(task, front, awaited, shared, monotonic_ns());
    aside = waits && exhausted(status);
    if (aside) {
      renew(task);
      set_aside(task);
    }
  }
  engine_.workers().wake(BatchWindow::kRing);
  return aside;
}

}  // namespace drapps
