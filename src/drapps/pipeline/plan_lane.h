// The lanes of a plan: what is done with each sample, in parts with a queue each.
#pragma once

#include <cstddef>
#include <functional>
#include <limits>
#include <vector>

#include "drapps/base/lane.h"
#include "drapps/base/result.h"

namespace drapps {

class Preparer;
struct SampleTask;

/// Works on a task; called by many workers at once, each with its own task. An error is the sample's.
using LaneWork = std::function<Status(const Preparer& preparer, SampleTask& task)>;

struct PlanLane {
  static constexpr std::size_t kLast = std::numeric_limits<std::size_t>::max();

  std::size_t place = 0;  // in kLanes
  LaneWork work;
  std::size_t next = kLast;  // place in the same list of the lane behind it
};

/// The two lists that a plan can be run by. Samples enter either at its first lane.
struct PlanLanes {
  std::vector<PlanLane> fused;  // the first does all that comes before a device
  std::vector<PlanLane> split;  // empty where there is nothing to split

  const std::vector<PlanLane>& of(bool is_fused) const noexcept { return is_fused ? fused : split; }
};

/// The places of the lanes that share the workers.
LaneSet on_workers(const std::vector<PlanLane>& lanes);

/// Decode, augment and collate: as one lane, or as three.
PlanLanes sample_lanes();

}  // namespace drapps
