#include "drapps/pipeline/lane_queues.h"

#include <algorithm>
#include <utility>

#include "drapps/base/clock.h"

namespace drapps {
namespace {

/// Orders a heap so that the earliest sample is on top.
bool later(const SampleTask* a, const SampleTask* b) noexcept {
  return a->place.step != b->place.step ? a->place.step > b->place.step : a->place.row > b->place.row;
}

}  // namespace

LaneQueues::LaneQueues(const PlanLanes& lanes, Metrics& metrics) : metrics_(metrics) {
  for (const auto* list : {&lanes.fused, &lanes.split}) {
    for (const PlanLane& lane : *list) {
      if (lane.next != PlanLane::kLast) inside_lanes_.push_back((*list)[lane.next].place);
    }
  }
  std::sort(inside_lanes_.begin(), inside_lanes_.end());
  inside_lanes_.erase(std::unique(inside_lanes_.begin(), inside_lanes_.end()), inside_lanes_.end());
}

void LaneQueues::set_weights(const Settings& settings, WeightUse weights) {
  for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
    const std::int32_t weight = settings.lane_weights[lane];
    stride_.set_weight(lane, weight);
    if (weights == WeightUse::kShare || weight == 0) continue;
    stride_.set_cap(lane,
                    static_cast<std::size_t>((settings[KnobId::kWorkers] * weight + kWeightUnit - 1) / kWeightUnit));
  }
}

void LaneQueues::reserve(std::size_t tasks) {
  entering_.reserve(tasks);
  for (const std::size_t lane : inside_lanes_) inside_queues_[lane].reserve(tasks);
}

bool LaneQueues::waits_inside() const noexcept {
  return std::any_of(inside_lanes_.begin(), inside_lanes_.end(),
                     [this](std::size_t lane) { return !inside_queues_[lane].empty(); });
}

std::optional<std::size_t> LaneQueues::pick(std::size_t first, bool enters) noexcept {
  LaneSet ready;
  for (const std::size_t lane : inside_lanes_) ready[lane] = !inside_queues_[lane].empty();
  ready[first] = enters;
  return stride_.pick(ready);
}

void LaneQueues::begin(SampleTask& task, std::size_t lane) noexcept {
  task.way.place = lane;
  stride_.begin(lane);
}

void LaneQueues::begin_inside(SampleTask& task) noexcept {
  task.way.inside = true;
  ++inside_;
}

void LaneQueues::pass_on(SampleTask& task, std::size_t lane) {
  end_job(task);
  push(inside_queues_[lane], lane, task);
}

void LaneQueues::end_job(SampleTask& task) noexcept {
  stride_.charge(task.way.place, static_cast<double>(std::exchange(task.way.unpaid_ns, 0)));
  stride_.end(task.way.place);
}

void LaneQueues::end(SampleTask& task) noexcept {
  end_job(task);
  if (std::exchange(task.way.inside, false)) --inside_;
}

void LaneQueues::push(std::vector<SampleTask*>& queue, std::size_t lane, SampleTask& task) {
  metrics_[lane].queue_length.record(queue.size());
  task.way.queued_ns = monotonic_ns();
  queue.push_back(&task);
  std::push_heap(queue.begin(), queue.end(), later);
}

SampleTask& LaneQueues::pop(std::vector<SampleTask*>& queue, std::size_t lane) {
  std::pop_heap(queue.begin(), queue.end(), later);
  SampleTask* const task = queue.back();
  queue.pop_back();
  metrics_[lane].wait.record(monotonic_ns() - task->way.queued_ns);
  return *task;
}

}  // namespace drapps
