// The queues before the lanes of a plan: which samples wait where, and which lane is served next.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "drapps/base/knob.h"
#include "drapps/exec/stride.h"
#include "drapps/pipeline/metrics.h"
#include "drapps/pipeline/plan_lane.h"
#include "drapps/pipeline/task.h"

namespace drapps {

/// A lane is named by its place in kLanes; *first* is the lane that samples enter a list of the plan by. A task is in
/// at most one queue, and out of the queues it is a job of at most one lane.
/// No member is safe to call from two threads at once: the runner's mutex guards it.
class LaneQueues {
 public:
  /// @param metrics  get lengths of queues and waits; outlive this.
  LaneQueues(const PlanLanes& lanes, Metrics& metrics);

  void set_weights(const Settings& settings, WeightUse weights);
  /// Makes room for so many tasks; no other member allocates.
  void reserve(std::size_t tasks);

  /// A task waits for a first lane, which may be another one when it is taken.
  void enter(SampleTask& task, std::size_t first) { push(entering_, first, task); }
  /// The earliest of those, or null.
  const SampleTask* entering() const noexcept { return entering_.empty() ? nullptr : entering_.front(); }
  std::span<SampleTask* const> all_entering() const noexcept { return entering_; }
  /// Whether a task waits for a lane behind a first one.
  bool waits_inside() const noexcept;

  /// The lane to serve, or nothing.
  /// @param enters  whether there is a sample that the first lane may have.
  std::optional<std::size_t> pick(std::size_t first, bool enters) noexcept;
  SampleTask& take_entering(std::size_t first) { return pop(entering_, first); }
  /// Requires that one waits for the lane.
  SampleTask& take_inside(std::size_t lane) { return pop(inside_queues_[lane], lane); }

  /// The task becomes a job of the lane.
  void begin(SampleTask& task, std::size_t lane) noexcept;
  /// It is between the first and the last of several lanes until end().
  void begin_inside(SampleTask& task) noexcept;
  /// It was a job of its lane, which its unpaid service is booked to, and waits for the one behind it.
  void pass_on(SampleTask& task, std::size_t lane);
  /// It is no job any more, of any lane; its unpaid service is booked to the one that it was a job of.
  void end(SampleTask& task) noexcept;

  /// Tasks between the first and the last of several lanes.
  std::size_t inside() const noexcept { return inside_; }
  /// Whether the task, which is a job, is the only one that is a job or inside.
  bool alone(const SampleTask& task) const noexcept {
    return stride_.jobs() == 1 && inside_ == (task.way.inside ? 1u : 0u);
  }

 private:
  void end_job(SampleTask& task) noexcept;
  void push(std::vector<SampleTask*>& queue, std::size_t lane, SampleTask& task);
  SampleTask& pop(std::vector<SampleTask*>& queue, std::size_t lane);

  Metrics& metrics_;
  StrideScheduler stride_;  // has the tasks that workers have as its jobs
  // Heaps, the earliest sample on top.
  std::vector<SampleTask*> entering_;                                  // read or not
  std::array<std::vector<SampleTask*>, kLanes.size()> inside_queues_;  // of lanes behind a first one
  std::vector<std::size_t> inside_lanes_;                              // which those are
  std::size_t inside_ = 0;
};

}  // namespace drapps
