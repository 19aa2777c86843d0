// The workers' half of the executor: reading, running lanes, and what happens when that fails.
#include <algorithm>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/pipeline/executor.h"
#include "drapps/pipeline/fetch.h"

namespace drapps {
namespace {

// Draws in place of one bad sample before the loader gives up on it.
constexpr std::uint32_t kReplacements = 16;

// A worker's turn ends behind so many samples, or so long.
constexpr std::uint32_t kMostInTurn = 8;
constexpr std::uint64_t kTurnNs = 50'000;

constexpr std::size_t kFetch = lane_place(LaneRole::kFetch);
constexpr std::size_t kFinish = lane_place(LaneRole::kAugment);

}  // namespace

WorkFound Executor::run_one() noexcept {
  SampleTask* task = nullptr;
  WorkFound outcome = WorkFound::kWork;
  Reads reads;
  {
    const std::scoped_lock lock(mutex_);
    reads = read_ahead();
    task = pick();
    if (task == nullptr) outcome = nothing();
  }
  submit(reads);
  for (WorkerTurn turn; task != nullptr;) task = work(*task, turn);
  return outcome;
}

void Executor::submit(const Reads& reads) {
  for (std::size_t i = 0; i < reads.count; ++i) {
    ask(reads.request[i]->sample);
    reader_->submit(reads.request[i]->read);
  }
}

SampleTask* Executor::work(SampleTask& task, WorkerTurn& turn) {
  Status status = ok_status();
  if (task.fetch.fresh && !fetch(task, status)) return nullptr;
  if (task.late.wanted && hand_over(task, status.ok())) return nullptr;
  if (status.ok()) {
    const std::size_t place = task.way.place;
    // What is left to do of a sample that a device has decoded is no service of the lane that does all.
    const std::size_t counted = task.sample.late != nullptr && task.way.fused ? kFinish : place;
    LaneTimer timer(place);
    status = catching([&] { return run_lane(task); });
    const LaneTime spent = timer.end();
    metrics_[counted].service_wall.record(spent.wall_ns);
    metrics_[counted].service_cpu.record(spent.cpu_ns);
    task.times.served(counted, spent);
    task.way.unpaid_ns = spent.wall_ns;
    turn.spent_ns += spent.wall_ns;
  }
  return settle(task, std::move(status), turn);
}

/// A lane has done its work on a task, or failed at it.
SampleTask* Executor::settle(SampleTask& task, Status status, WorkerTurn& turn) {
  // A replacement that found no memory is tried once more, from the bad sample on, as any other sample.
  for (int tries = 0; tries < 2; ++tries) {
    if (exhausted(status) && starve(task, status)) return nullptr;
    if (status.ok() || blameless(status.error()) || plan_->spec.on_error != OnError::kReplace) break;
    status = catching([&] { return replace(task, std::move(status).error()); });
    if (!exhausted(status)) break;
  }
  if (!status.ok() || lane_of(task).next == PlanLane::kLast) return finish(task, std::move(status), turn);
  pass_on(task);
  return nullptr;
}

void Executor::pass_on(SampleTask& task) {
  {
    const std::scoped_lock lock(mutex_);
    note_tried(task);
    task.way.lane = lane_of(task).next;
    queues_.pass_on(task, lane_of(task).place);
  }
  engine_.workers().wake();
}

Status Executor::run_lane(SampleTask& task) {
  if (task.sample.workspace == nullptr) {
    const std::scoped_lock lock(mutex_);
    add_workspace(task);
  }
  return lane_of(task).work(preparer_, task);
}

/// Makes the task anew by the fused lane, whatever lane it was in.
Status Executor::prepare(SampleTask& task) {
  task.way.fused = true;
  task.way.lane = 0;
  const std::size_t place = lane_of(task).place;
  LaneTimer timer(place);
  Status status = run_lane(task);
  task.times.served(place, timer.end());
  return status;
}

/// Reads what there is to read, waiting if need be, but not beyond the end of the executor.
Status Executor::fetch_waiting(SampleTask& task) {
  WorkerClock* const clock = WorkerClock::mine();
  if (clock != nullptr) clock->enter(WorkerClock::kStorage);
  Status status = catching([&] {
    return fetch_now(task.sample, [this] {
      const std::scoped_lock lock(mutex_);
      return stopping_;
    });
  });
  if (clock != nullptr) clock->enter(WorkerClock::kOther);
  task.times.served(kFetch, {.wall_ns = task.read.wall_ns, .cpu_ns = task.read.cpu_ns});
  return status;
}

/// Reads what needs no waiting. False where it does: the reader has the task then.
bool Executor::fetch(SampleTask& task, Status& status) {
  // What the reader failed at is read here once more, waiting if need be: its error is the sample's.
  if (task.fetch.failed) {
    status = fetch_waiting(task);
    task.fetch.fresh = false;
    return true;
  }
  task.read.waited = false;
  if (ask_keeper(task.sample)) {
    metrics_.read.mark();
    task.fetch.fresh = false;
    return true;
  }
  WorkerClock* const clock = WorkerClock::mine();
  if (clock != nullptr) clock->enter(WorkerClock::lane(kFetch));
  const bool waits = !source_->storage().try_read(task.read);
  if (clock != nullptr) clock->leave_lane(waits ? 0 : task.read.cpu_ns);
  if (!waits) {
    metrics_.read.mark();
    metrics_[kFetch].service_wall.record(task.read.wall_ns);
    metrics_[kFetch].service_cpu.record(task.read.cpu_ns);
    task.times.served(kFetch, {.wall_ns = task.read.wall_ns, .cpu_ns = task.read.cpu_ns});
    task.fetch.fresh = false;
    task.fetch.tried = true;
    remember(task.sample);
    return true;
  }
  {
    const std::scoped_lock lock(mutex_);
    ahead_.tried(false);
    withdraw(task);
    leave(task);
    queue_read();
  }
  reader_->submit(task.read);
  return false;
}

void Executor::read_done(ReadRequest& request, Status status) noexcept {
  SampleTask& task = *static_cast<SampleTask::TaskRead&>(request).task;
  task.read.waited = true;
  if (status.ok()) remember(task.sample);
  metrics_.read.mark();
  LaneMetrics& lane = metrics_[kFetch];
  task.times.served(kFetch, {.wall_ns = request.wall_ns, .cpu_ns = request.cpu_ns});
  lane.service_wall.record(request.wall_ns);
  lane.service_cpu.record(request.cpu_ns);
  if (request.begun_ns >= request.first_try_ns) lane.wait.record(request.begun_ns - request.first_try_ns);
  // The workers pay for what reading cost; an I/O thread never sleeps over it.
  static_cast<void>(engine_.workers().cpu_budget().charge(request.cpu_ns, monotonic_ns()));
  Reads reads;
  {
    const std::scoped_lock lock(mutex_);
    ahead_.read();
    // A failed read is tried once more by the worker that takes the task, which knows what to do about errors.
    task.fetch.fresh = task.fetch.failed = !status.ok();
    enter(task);
    if (!stopping_) reads = read_ahead();
  }
  submit(reads);
  engine_.workers().wake();
}

Status Executor::replace(SampleTask& task, Error first) {
  task.sample.asked.replaced = true;
  task.sample.late.reset();
  while (task.fetch.replacements < kReplacements) {
    preparer_.replace(task, task.fetch.replacements++);
    Status status = fetch_waiting(task);
    if (status.ok()) status = prepare(task);
    if (status.ok()) status = window_.report(first);
    if (status.ok() || blameless(status.error())) return status;
  }
  first.message += "; and none of " + std::to_string(kReplacements) + " samples drawn in its place was good";
  return first;
}

void Executor::log(const SampleTask& task, bool good) noexcept {
  const auto& lanes = task.times.service_ns;
  if (!metrics_.log.wants(std::accumulate(lanes.begin(), lanes.end(), std::uint64_t{0}))) return;
  metrics_.log.add({.record = task.sample.asked.record,
                    .position = task.sample.asked.row.position,
                    .epoch = sampler_.epoch(),
                    .bytes = good ? task.read.bytes_read() : 0,
                    .known = task.sample.decoded.known,
                    .cpu_ns = task.times.service_cpu_ns,
                    .wall_ns = lanes});
}

SampleTask* Executor::finish(SampleTask& task, Status status, WorkerTurn& turn) {
  metrics_.first_sample.mark();
  log(task, status.ok());
  const std::uint64_t work = task.sample.decoded.work;
  if (work > plan_->large_work) metrics_.large.add(task.sample.asked.row.position, work);
  task.sample.kept.unpin();
  task.sample.late.reset();
  if (task.times.measured) metrics_.kernel_cpu_sampled.fetch_add(task.times.kernel_cpu_ns, std::memory_order_relaxed);
  std::optional<FailedRow> failed;
  if (!status.ok()) {
    Status report = window_.report(status.error());
    failed.emplace(task.place.row, std::move(report.ok() ? status : report).error());
  }
  bool landed = false;
  bool resumed = false;
  SampleTask* next = nullptr;
  {
    Lock lock(mutex_);
    landed = window_.finish(lock, task.place.step, 1, failed ? std::span(&*failed, 1) : std::span<FailedRow>());
    leave(task);
    pool_.put(task);
    resumed = resume_starved();
    const bool goes_on = ++turn.samples < kMostInTurn && turn.spent_ns < kTurnNs && ahead_.at_once();
    if (goes_on) next = pick();
  }
  if (landed) window_.notify();
  // A cap that has room again is news to workers that found none; this one may do something else now.
  if (resumed || weights_ == WeightUse::kCap) engine_.workers().wake();
  return next;
}

}  // namespace drapps
