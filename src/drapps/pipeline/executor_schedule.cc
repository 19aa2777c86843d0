// The scheduler's half of the executor: which sample, which lane, which memory. All of it runs under mutex_.
#include <algorithm>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/base/clock.h"
#include "drapps/pipeline/device_share.h"
#include "drapps/pipeline/executor.h"

namespace drapps {
namespace {

// Two tries in a row change the mind about whether storage makes readers wait; where it does, one sample in so
// many is tried again without waiting, because a cache may have warmed up.
constexpr std::uint32_t kStreak = 2;
constexpr std::uint64_t kProbeEvery = 64;

/// Orders a heap so that the earliest sample is on top.
bool later(const SampleTask* a, const SampleTask* b) noexcept {
  return a->place.step != b->place.step ? a->place.step > b->place.step : a->place.row > b->place.row;
}

}  // namespace

void Executor::schedule(const Settings& settings) {
  const std::scoped_lock lock(mutex_);
  settings_ = settings;
  window_.set_depth(settings[KnobId::kPrefetchDepth]);
  for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
    const std::int32_t weight = settings.lane_weights[lane];
    stride_.set_weight(lane, weight);
    if (weights_ == WeightUse::kShare || weight == 0) continue;
    stride_.set_cap(lane,
                    static_cast<std::size_t>((settings[KnobId::kWorkers] * weight + kWeightUnit - 1) / kWeightUnit));
  }
}

/// Those that samples enter now.
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
  if (fetch_step_ == window_.steps() || tasks_.size() - free_tasks_.size() >= most_tasks()) return false;
  if (!free_tasks_.empty()) return true;
  Status made = catching([this] { add_task(); });
  if (made.ok()) return true;
  // Where there are some, the next one that ends is free.
  if (tasks_.empty()) window_.lacks(std::move(made).error());
  return false;
}

void Executor::add_task() {
  for (auto* queue : {&free_tasks_, &ready_, &starved_}) queue->reserve(tasks_.size() + 1);
  for (const std::size_t place : inner_) queues_[place].reserve(tasks_.size() + 1);
  tasks_.push_back(std::make_unique<SampleTask>(engine_.memory(MemoryUse::kWorkspaces)));
  free_tasks_.push_back(tasks_.back().get());
}

SampleTask* Executor::start_next() {
  SampleTask* task = free_tasks_.back();
  free_tasks_.pop_back();
  const Sampler::Row row = sampler_.row(fetch_step_, fetch_row_);
  task->sample.source = source_.get();
  task->sample.keeper = keeper_.get();
  task->begin({.row = row, .record = row.index}, {.step = fetch_step_, .row = fetch_row_},
              started_++ % Metrics::kKernelSampling == 0);
  if (++fetch_row_ == sampler_.batch(fetch_step_).rows) {
    fetch_row_ = 0;
    ++fetch_step_;
  }
  return task;
}

void Executor::enqueue(std::vector<SampleTask*>& queue, std::size_t place, SampleTask& task) {
  metrics_[place].queue_length.record(queue.size());
  task.way.queued_ns = monotonic_ns();
  queue.push_back(&task);
  std::push_heap(queue.begin(), queue.end(), later);
}

SampleTask* Executor::dequeue(std::vector<SampleTask*>& queue, std::size_t place) {
  std::pop_heap(queue.begin(), queue.end(), later);
  SampleTask* task = queue.back();
  queue.pop_back();
  metrics_[place].wait.record(monotonic_ns() - task->way.queued_ns);
  return task;
}

SampleTask* Executor::pick() {
  if (stopping_ || solo_) return nullptr;
  const std::vector<PlanLane>& lanes = this->lanes();
  const std::size_t entry = lanes.front().place;
  // A lane that leads into others takes nothing new while those are full.
  const bool room = lanes.size() == 1 || inside_ < most_inside();
  no_slot_ = false;
  const auto opens = [this](std::uint64_t step) {
    const bool open = window_.open(step);
    no_slot_ |= !open && step < window_.end();
    return open;
  };
  const bool queued = room && !ready_.empty() && opens(ready_.front()->place.step);
  const bool next = room && !queued && warm_ && can_start_next() && opens(fetch_step_);
  LaneSet ready;
  for (const std::size_t place : inner_) ready[place] = !queues_[place].empty();
  ready[entry] = queued || next;
  const auto place = stride_.pick(ready);
  if (!place) return nullptr;

  if (*place != entry) {
    SampleTask* task = dequeue(queues_[*place], *place);
    begin(*task, *place);
    return task;
  }
  SampleTask* task = next ? start_next() : dequeue(ready_, entry);
  task->way.fused = &lanes == &plan_->lanes.fused;
  task->way.lane = 0;
  task->way.inside = lanes.size() > 1;
  if (task->way.inside) ++inside_;
  task->place.slot = window_.place(task->place.step)->data();
  lend_workspace(*task);
  if (decoder_ != nullptr && offers(*task)) {
    task->late = {
        .wanted = true, .augment = augments_on_device(task->sample.asked.row.position, settings_), .tried = true};
    ++decoding_;
  }
  begin(*task, entry);
  return task;
}

/// Why the last pick() found none.
WorkFound Executor::nothing() const {
  if (stopping_) return WorkFound::kNothing;
  if (no_slot_ || solo_ || !starved_.empty() || window_.lacking()) return WorkFound::kMemory;
  const auto waits_in = [this](std::size_t place) { return !queues_[place].empty(); };
  // What is ready is for others: lanes have their cap, or those behind the first are full.
  if (std::any_of(inner_.begin(), inner_.end(), waits_in)) return WorkFound::kNothing;
  if (!ready_.empty()) {
    return ready_.front()->place.step < window_.end() ? WorkFound::kNothing : WorkFound::kWindow;
  }
  if (reading_ > 0) return WorkFound::kStorage;
  return fetch_step_ < window_.steps() && fetch_step_ >= window_.end() ? WorkFound::kWindow : WorkFound::kNothing;
}

/// The task becomes a job of its lane.
void Executor::begin(SampleTask& task, std::size_t place) {
  task.way.place = place;
  stride_.begin(place);
}

/// It is no job any more, of any lane.
void Executor::end(SampleTask& task) {
  stride_.end(task.way.place);
  if (std::exchange(task.way.inside, false)) --inside_;
}

Executor::Reads Executor::read_ahead() {
  Reads reads;
  if (warm_ || stopping_ || solo_) return reads;
  while (reading_ < static_cast<std::size_t>(settings_[KnobId::kIoDepth]) && reads.count < reads.request.size() &&
         fetch_step_ < window_.end() && can_start_next()) {
    SampleTask* task = start_next();
    // What is kept needs no reader: its worker takes it from the cache.
    if (started_ % kProbeEvery == 0 || (keeper_ != nullptr && keeper_->knows(task->sample.asked.record))) {
      enter(*task);
      continue;
    }
    reads.request[reads.count++] = task;
    queue_read();
  }
  return reads;
}

/// The reader gets one more.
void Executor::queue_read() { metrics_[lane_place(LaneRole::kFetch)].queue_length.record(reading_++); }

void Executor::saw_read(bool at_once) {
  if (at_once == warm_) {
    streak_ = 0;
  } else if (++streak_ == kStreak) {
    warm_ = at_once;
    streak_ = 0;
  }
}

/// A free one, if there is any.
void Executor::lend_workspace(SampleTask& task) {
  if (free_workspaces_.empty()) return;
  task.sample.workspace = free_workspaces_.back();
  free_workspaces_.pop_back();
}

void Executor::add_workspace(SampleTask& task) {
  free_workspaces_.reserve(workspaces_.size() + 1);
  workspaces_.push_back(std::make_unique<Workspace>(preparer_.new_workspace(engine_.memory(MemoryUse::kWorkspaces))));
  task.sample.workspace = workspaces_.back().get();
}

void Executor::return_workspace(SampleTask& task) {
  if (task.sample.workspace == nullptr) return;
  free_workspaces_.push_back(std::exchange(task.sample.workspace, nullptr));
}

void Executor::free_memory() noexcept {
  for (Workspace* workspace : free_workspaces_) workspace->reset();
  for (SampleTask* task : free_tasks_) {
    for (Buffer& buffer : task->buffers) buffer.reset();
  }
}

bool Executor::alone(const SampleTask& task) const {
  return stride_.jobs() == 1 && reading_ == 0 && decoding_ == 0 && inside_ == (task.way.inside ? 1u : 0u);
}

}  // namespace drapps
