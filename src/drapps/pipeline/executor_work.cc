// The workers' half of the executor: reading, running lanes, and what happens when that fails.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/pipeline/executor.h"

namespace drapps {
namespace {

// Draws in place of one bad sample before the loader gives up on it.
constexpr std::uint32_t kReplacements = 16;

}  // namespace

bool Executor::run_one() noexcept {
  Job job;
  Reads reads;
  {
    const std::scoped_lock lock(mutex_);
    reads = read_ahead();
    job = pick();
  }
  submit(reads);
  if (job.task == nullptr) return false;
  work(job);
  return true;
}

void Executor::submit(const Reads& reads) {
  for (std::size_t i = 0; i < reads.count; ++i) reader_->submit(*reads.request[i]);
}

void Executor::work(const Job& job) {
  SampleTask& task = *job.task;
  Status status = ok_status();
  if (task.fresh && !fetch(task, status)) return;

  const bool whole = task.lane == lane_place(LaneRole::kPrepare) || task.lane == lane_place(LaneRole::kCollate);
  if (status.ok()) {
    const std::uint64_t wall = monotonic_ns();
    const std::uint64_t cpu = thread_cpu_ns();
    status = catching([&] { return run_lane(task.lane, task, job.slot); });
    const std::uint64_t spent = monotonic_ns() - wall;
    metrics_[task.lane].service_wall.record(spent);
    metrics_[task.lane].service_cpu.record(thread_cpu_ns() - cpu);
    const bool onward = status.ok() && !whole;
    {
      const std::scoped_lock lock(mutex_);
      stride_.charge(task.lane, static_cast<double>(spent));
      if (onward) {
        enqueue(task.lane == lane_place(LaneRole::kDecode) ? lane_place(LaneRole::kAugment)
                                                           : lane_place(LaneRole::kCollate),
                task);
        stride_.end(task.lane);
      }
    }
    if (onward) {
      engine_.workers().wake();
      return;
    }
  }
  // A replacement that found no memory is tried once more, from the bad sample on, as any other sample.
  for (int tries = 0; tries < 2; ++tries) {
    if (exhausted(status) && starve(job, status)) return;
    if (status.ok() || blameless(status.error()) || plan_->spec.on_error != OnError::kReplace) break;
    status = catching([&] { return replace(task, job.slot, std::move(status).error()); });
    if (!exhausted(status)) break;
  }
  finish(task, std::move(status));
}

Status Executor::run_lane(std::size_t lane, SampleTask& task, std::byte* slot) {
  if (task.workspace == nullptr) {
    const std::scoped_lock lock(mutex_);
    add_workspace(task);
  }
  switch (lane) {
    case lane_place(LaneRole::kDecode): return preparer_.decode(task);
    case lane_place(LaneRole::kAugment): return preparer_.augment(task);
    case lane_place(LaneRole::kCollate): return preparer_.collate(task, slot);
    default: return run_all(task, slot);
  }
}

Status Executor::run_all(SampleTask& task, std::byte* slot) {
  DRAPPS_RETURN_IF_ERROR(preparer_.decode(task));
  DRAPPS_RETURN_IF_ERROR(preparer_.augment(task));
  return preparer_.collate(task, slot);
}

/// Reads what needs no waiting. False where it does: the reader has the task then.
bool Executor::fetch(SampleTask& task, Status& status) {
  // What the reader failed at is read here once more, waiting if need be: its error is the sample's.
  if (task.read_failed) {
    status = read_record(task);
    task.fresh = false;
    return true;
  }
  const bool waits = !try_read_record(task);
  if (!waits) {
    metrics_.read.mark();
    metrics_[lane_place(LaneRole::kFetch)].service_wall.record(task.wall_ns);
    metrics_[lane_place(LaneRole::kFetch)].service_cpu.record(task.cpu_ns);
    task.fresh = false;
  }
  {
    const std::scoped_lock lock(mutex_);
    saw_read(!waits);
    if (!waits) return true;
    return_workspace(task);
    if (!task.fused) --split_tasks_;
    stride_.end(task.lane);
    ++reading_;
  }
  reader_->submit(task);
  return false;
}

void Executor::read_done(ReadRequest& request, Status status) noexcept {
  auto& task = static_cast<SampleTask&>(request);
  metrics_.read.mark();
  metrics_[lane_place(LaneRole::kFetch)].service_wall.record(request.wall_ns);
  metrics_[lane_place(LaneRole::kFetch)].service_cpu.record(request.cpu_ns);
  // The workers pay for what reading cost; an I/O thread never sleeps over it.
  static_cast<void>(engine_.workers().cpu_budget().charge(request.cpu_ns, monotonic_ns()));
  Reads reads;
  {
    const std::scoped_lock lock(mutex_);
    --reading_;
    // A failed read is tried once more by the worker that takes the task, which knows what to do about errors.
    task.fresh = task.read_failed = !status.ok();
    enqueue(entry_lane(), task);
    if (!stopping_) reads = read_ahead();
  }
  submit(reads);
  engine_.workers().wake();
}

/// Brings a task back to where it was before its bytes were read, with no memory of its own.
void Executor::renew(SampleTask& task) {
  if (task.workspace != nullptr) task.workspace->reset();
  for (Buffer& buffer : task.buffers) buffer.reset();
  task.index = task.row.index;
  task.replaced = false;
  task.fresh = true;
}

/// Leaves a task until memory may have come back; see resume_starved().
void Executor::set_aside(SampleTask& task) {
  return_workspace(task);
  if (!task.fused) --split_tasks_;
  stride_.end(task.lane);
  starved_.push_back(&task);
}

/// What to do about a task that found no memory. True: it was set aside. False: nothing else was under way, and it was
/// tried again alone with all that is idle released; `status` says how that ended.
bool Executor::starve(const Job& job, Status& status) {
  SampleTask& task = *job.task;
  {
    const std::scoped_lock lock(mutex_);
    free_memory();
    renew(task);
    if (!alone(task)) {
      set_aside(task);
      return true;
    }
    solo_ = true;
    // What waits was read ahead of need; it is read again.
    for (SampleTask* waiting : ready_) {
      for (Buffer& buffer : waiting->buffers) buffer.reset();
      waiting->fresh = true;
    }
  }
  engine_.workers().release_idle(*this);
  status = read_record(task);
  task.fresh = false;
  if (status.ok()) status = catching([&] { return run_lane(lane_place(LaneRole::kPrepare), task, job.slot); });
  // Asked only now, because another executor may have begun meanwhile.
  const bool shared = exhausted(status) && engine_.workers().release_idle(*this);

  bool aside = false;
  {
    const std::scoped_lock lock(mutex_);
    solo_ = false;
    // Batches that land before this one, and other executors, will still give memory back.
    const bool front = task.step == window_.front();
    if (front && window_.awaited(task.step) && task.starved_ns == 0) task.starved_ns = monotonic_ns();
    const bool patient =
        shared && (task.starved_ns == 0 || monotonic_ns() - task.starved_ns < BatchWindow::kMemoryPatienceNs);
    aside = exhausted(status) && (!front || patient);
    if (aside) {
      renew(task);
      set_aside(task);
    }
  }
  engine_.workers().wake(BatchWindow::kRing);
  return aside;
}

void Executor::resume_starved() {
  for (SampleTask* task : starved_) enqueue(entry_lane(), *task);
  starved_.clear();
}

Status Executor::replace(SampleTask& task, std::byte* slot, Error first) {
  task.replaced = true;
  for (std::uint32_t attempt = 0; attempt < kReplacements; ++attempt) {
    preparer_.replace(task, attempt);
    Status status = read_record(task);
    if (status.ok()) status = run_lane(lane_place(LaneRole::kPrepare), task, slot);
    if (status.ok()) status = window_.report(first);
    if (status.ok() || blameless(status.error())) return status;
  }
  first.message += "; and none of " + std::to_string(kReplacements) + " samples drawn in its place was good";
  return first;
}

void Executor::finish(SampleTask& task, Status status) {
  metrics_.made.mark();
  if (task.measured) metrics_.kernel_cpu_sampled.fetch_add(task.kernel_cpu_ns, std::memory_order_relaxed);
  std::optional<FailedRow> failed;
  if (!status.ok()) {
    Status told = window_.report(status.error());
    failed.emplace(task.row_in_batch, std::move(told.ok() ? status : told).error());
  }
  bool landed = false;
  bool resumed = false;
  {
    Lock lock(mutex_);
    landed = window_.finish(lock, task.step, 1, failed ? std::span(&*failed, 1) : std::span<FailedRow>());
    return_workspace(task);
    if (!task.fused) --split_tasks_;
    stride_.end(task.lane);
    free_tasks_.push_back(&task);
    resumed = !starved_.empty();
    resume_starved();
  }
  if (landed) window_.notify();
  // A cap that has room again is news to workers that found none; this one may do something else now.
  if (resumed || weights_ == WeightUse::kCap) engine_.workers().wake();
}

}  // namespace drapps
