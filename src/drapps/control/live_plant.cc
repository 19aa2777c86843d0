#include "drapps/control/live_plant.h"

#include <algorithm>

#include "drapps/base/clock.h"
#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

// Beyond this a deeper queue of reads only adds to their latency on any storage there is.
constexpr std::int32_t kMostReads = 64;

}  // namespace

Limits live_limits(const Plan& plan, const Engine& engine) {
  const MemoryLedger& memory = engine.memory();
  const std::size_t used = std::min(memory.used() - std::min(memory.used(), engine.parked().bytes()), memory.limit());
  const std::size_t batches = (memory.limit() - used) / 2 / std::max<std::size_t>(plan.layout.bytes(), 1);
  const auto prefetch_depth = static_cast<std::int32_t>(std::clamp<std::size_t>(batches, 1, 32));
  Limits limits = native_limits(engine.max_workers(), kMostReads, prefetch_depth, /*can_split=*/true);
  for (const LaneRole lane : {LaneRole::kDecode, LaneRole::kAugment, LaneRole::kCollate}) {
    limits.weighted.set(index_of(lane));
  }
  return limits;
}

void LivePlant::detach() {
  const std::scoped_lock lock(mutex_);
  last_ = look();
  last_.finished = true;
  runner_ = nullptr;
}

Limits LivePlant::limits() const {
  Limits now = limits_;
  now[KnobId::kWorkers].high = engine_.max_workers();
  return now;
}

Observation LivePlant::observe() const {
  const std::scoped_lock lock(mutex_);
  return runner_ == nullptr ? last_ : look();
}

void LivePlant::apply(const Settings& settings) {
  const std::scoped_lock lock(mutex_);
  if (runner_ != nullptr) runner_->apply(settings);
}

Observation LivePlant::look() const {
  const Metrics& metrics = runner_->metrics();
  Observation seen;
  seen.time_ns = monotonic_ns();
  seen.settings = runner_->settings();
  seen.batches = metrics.batches.load(std::memory_order_relaxed);
  seen.samples = metrics.samples.load(std::memory_order_relaxed);
  seen.step = metrics.step.counts();
  seen.stall = metrics.stall.counts();
  const bool fused = seen.settings[KnobId::kFused] != 0;
  for (std::size_t i = 0; i < kLaneRoles; ++i) {
    const auto role = static_cast<LaneRole>(i);
    const LaneMetrics& from = metrics[role];
    LaneObservation& to = seen.lanes[i];
    const bool split_lane = role == LaneRole::kDecode || role == LaneRole::kAugment || role == LaneRole::kCollate;
    to.valid = role == LaneRole::kFetch || (fused ? role == LaneRole::kPrepare : split_lane);
    to.service_wall = from.service_wall.counts();
    to.service_cpu = from.service_cpu.counts();
    to.queue_length = from.queue_length.counts();
    to.wait = from.wait.counts();
  }
  seen.ready_batches = runner_->ready_batches();
  seen.memory_used = engine_.memory().used();
  seen.process_cpu_seconds = static_cast<double>(process_cpu_ns()) * 1e-9;
  seen.finished = runner_->finished();
  return seen;
}

}  // namespace drapps
