// The scheduler's half of the executor: which sample, which lane, which memory. All of it runs under mutex_.
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/pipeline/executor.h"

namespace drapps {

void Executor::schedule(const Settings& settings) {
  const std::scoped_lock lock(mutex_);
  settings_ = settings;
  window_.set_depth(settings[KnobId::kPrefetchDepth]);
  queues_.set_weights(settings, weights_);
}

/// The lanes that samples enter now.
const std::vector<PlanLane>& Executor::lanes() const {
  return plan_->lanes.of(settings_[KnobId::kFused] != 0 || plan_->lanes.split.empty());
}

std::size_t Executor::most_inside() const { return 2 * static_cast<std::size_t>(settings_[KnobId::kWorkers]) + 2; }

std::size_t Executor::most_tasks() const {
  return 2 * static_cast<std::size_t>(settings_[KnobId::kIoDepth]) +
         2 * static_cast<std::size_t>(settings_[KnobId::kWorkers]) + most_inside() +
         (decoder_ != nullptr && settings_[KnobId::kDecodeOnGpu] > 0 ? decoder_->most() : 0);
}

/// Whether there is a sample to start, and a free task for it.
bool Executor::can_start_next() {
  if (ahead_.ended() || pool_.lent() >= most_tasks()) return false;
  if (pool_.has_free()) return true;
  Status status = catching([this] { add_task(); });
  if (status.ok()) return true;
  // Where there are tasks, the next one that ends is free.
  if (pool_.size() == 0) window_.lacks(std::move(status).error());
  return false;
}

void Executor::add_task() {
  const std::size_t tasks = pool_.size() + 1;
  queues_.reserve(tasks);
  starvation_.reserve(tasks);
  pool_.add();
}

void Executor::add_workspace(SampleTask& task) {
  pool_.add_workspace(task, preparer_.new_workspace(engine_.memory(MemoryUse::kWorkspaces)));
}

SampleTask& Executor::start_next() {
  SampleTask& task = pool_.take();
  const ReadAhead::NextSample next = ahead_.next();
  task.sample.source = source_.get();
  task.sample.keeper = keeper_.get();
  task.begin({.row = next.sample, .record = next.sample.index}, {.step = next.step, .row = next.row},
             next.number % Metrics::kKernelSampling == 0);
  return task;
}

SampleTask* Executor::pick() {
  if (stopping_ || starvation_.alone()) return nullptr;
  const std::vector<PlanLane>& lanes = this->lanes();
  const std::size_t first = lanes.front().place;
  // A lane that leads into others takes nothing new while those are full.
  const bool room = lanes.size() == 1 || queues_.inside() < most_inside();
  bool no_slot = false;
  const auto opens = [this, &no_slot](std::uint64_t step) {
    const bool open = window_.open(step);
    no_slot |= !open && step < window_.end();
    return open;
  };
  const SampleTask* const waiting = queues_.entering();
  const bool queued = room && waiting != nullptr && opens(waiting->place.step);
  const bool next = room && !queued && ahead_.at_once() && can_start_next() && opens(ahead_.step());
  starvation_.set_no_slot(no_slot);
  const auto lane = queues_.pick(first, queued || next);
  if (!lane) return nullptr;

  if (*lane != first) {
    SampleTask& task = queues_.take_inside(*lane);
    queues_.begin(task, *lane);
    return &task;
  }
  SampleTask& task = next ? start_next() : queues_.take_entering(first);
  task.way.fused = &lanes == &plan_->lanes.fused;
  task.way.lane = 0;
  if (lanes.size() > 1) queues_.begin_inside(task);
  task.place.slot = window_.place(task.place.step)->data();
  pool_.lend_workspace(task);
  if (decoder_ != nullptr && offers(task)) want_late(task);
  queues_.begin(task, first);
  return &task;
}

/// Why the last pick() found none.
WorkFound Executor::nothing() const {
  if (stopping_) return WorkFound::kNothing;
  if (starvation_.any() || window_.lacking()) return WorkFound::kMemory;
  // What is ready is for others: lanes have their cap, or those behind the first are full.
  if (queues_.waits_inside()) return WorkFound::kNothing;
  if (const SampleTask* const waiting = queues_.entering(); waiting != nullptr) {
    return waiting->place.step < window_.end() ? WorkFound::kNothing : WorkFound::kWindow;
  }
  if (ahead_.reading() > 0) return WorkFound::kStorage;
  return !ahead_.ended() && ahead_.step() >= window_.end() ? WorkFound::kWindow : WorkFound::kNothing;
}

/// Notes that a worker has read the task's record without waiting. Not when it did: that would take a lock of its own.
void Executor::note_tried(SampleTask& task) {
  if (std::exchange(task.fetch.tried, false)) ahead_.tried(true);
}

/// The task is no job of a lane any more, and needs no workspace.
void Executor::leave(SampleTask& task) {
  note_tried(task);
  pool_.return_workspace(task);
  queues_.end(task);
}

Executor::Reads Executor::read_ahead() {
  Reads reads;
  if (ahead_.at_once() || stopping_ || starvation_.alone()) return reads;
  while (ahead_.reading() < static_cast<std::size_t>(settings_[KnobId::kIoDepth]) &&
         reads.count < reads.request.size() && ahead_.step() < window_.end() && can_start_next()) {
    SampleTask& task = start_next();
    // What is kept needs no reader: its worker takes it from the cache.
    if (ahead_.probes() || (keeper_ != nullptr && keeper_->knows(task.sample.asked.record))) {
      enter(task);
      continue;
    }
    reads.request[reads.count++] = &task;
    queue_read();
  }
  return reads;
}

/// Counts one more request of the reader.
void Executor::queue_read() { metrics_[lane_place(LaneRole::kFetch)].queue_length.record(ahead_.submit()); }

}  // namespace drapps
