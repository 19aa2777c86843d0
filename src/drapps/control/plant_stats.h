// All that a plant has counted, whole histograms included: for people, where an observation is for policies.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "drapps/base/histogram.h"
#include "drapps/control/consumer.h"
#include "drapps/exec/worker_time.h"
#include "drapps/pipeline/metrics.h"
#include "drapps/plant/plant.h"
#include "drapps/storage/meter.h"

namespace drapps {

/// What a lane's histograms had counted. Those of several runners add.
struct LaneCounts {
  HistogramCounts service_wall, service_cpu, queue_length, wait;

  void add(const LaneMetrics& metrics) noexcept;
};

WorkerObservation observation_of(const WorkerTimes& times) noexcept;

struct PlantStats {
  Settings settings;
  Limits limits;
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;
  std::uint64_t failed_samples = 0;
  ConsumerTimes::Counts consumer;
  LaneSet valid;  // lanes that are in use now
  LaneSet used;   // lanes that ever were in use
  std::array<LaneCounts, kLanes.size()> lanes;
  WorkerTimes workers;  // threads of this process, or worker processes
  StorageCounts storage;
  device::DeviceCounts device;  // copies and launches, of passes and of what decodes there
  std::uint32_t ready_batches = 0;
  Upcoming upcoming;
  std::uint64_t memory_used = 0;
  std::uint64_t memory_limit = 0;
};

/// {"settings", "limits": {knob: [low, high]}, "batches", "samples", "failed_samples", "ready_batches",
///  "consumer": {"passes", "step_s", "stall_s", "helped_s", "between_s"},
///  "lanes": {name: {"valid", "service_s", "service_cpu_s", "queue_length", "wait_s"}},
///  "workers": {what numbers() of WorkerObservation lists, "cpu_s", "lanes": {name: {"cpu_s", "core_wait_s"}}},
///  "storage", "device", "upcoming": {what their numbers() list: name: value}, "memory": {"used", "limit"}}
/// A distribution is {"count", "sum", "mean", "p50", "p90", "p99", "most", "buckets": [[upper edge, count], …]}: only
/// buckets that hold something. Times are in seconds, and their names end in "_s".
nlohmann::json to_json(const PlantStats& stats, KnobSet has);

/// {"record", "epoch", "position", "rows", "bytes", "seconds", "slow": the lane that took most, "lanes": {name:
/// seconds}}
nlohmann::json to_json(const SampleTimes& sample);

}  // namespace drapps
