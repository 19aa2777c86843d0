#include "drapps/control/live_plant.h"

#include <algorithm>

#include "drapps/base/clock.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/guard.h"

namespace drapps {
namespace {

// Beyond this a deeper queue of reads only adds to their latency on any storage there is.
constexpr std::int32_t kMostReads = 64;

void count(const Metrics& metrics, Observation& seen) {
  const HistogramCounts steps = metrics.step.counts();
  seen.step += steps;
  seen.passes += steps.count > 0 ? 1 : 0;
  seen.batches += metrics.batches.load(std::memory_order_relaxed);
  seen.samples += metrics.samples.load(std::memory_order_relaxed);
  seen.stall += metrics.stall.counts();
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    const LaneMetrics& from = metrics.lanes[i];
    LaneObservation& to = seen.lanes[i];
    to.service_wall += from.service_wall.counts();
    to.service_cpu += from.service_cpu.counts();
    to.queue_length += from.queue_length.counts();
    to.wait += from.wait.counts();
  }
}

/// Batches that memory has room for beside others', when these have `own` bytes.
std::int32_t most_batches(const Plan& plan, const Engine& engine, std::size_t own) {
  const MemoryLedger& memory = engine.memory();
  const std::size_t used = memory.used() - std::min(memory.used(), memory.releasable() + own);
  const std::size_t left = memory.limit() - std::min(memory.limit(), used);
  const std::size_t batches = left / 2 / std::max<std::size_t>(plan.layout.bytes(), 1);
  return static_cast<std::int32_t>(std::clamp<std::size_t>(batches, 1, 32));
}

}  // namespace

Limits live_limits(const Plan& plan, const Engine& engine) {
  Limits limits =
      native_limits(engine.max_workers(), kMostReads, most_batches(plan, engine, 0), !plan.lanes.split.empty());
  limits.cpus = engine.cpu_budget();
  limits.weighted = on_workers(plan.lanes.split);
  return limits;
}

void LivePlant::attach(Runner& runner, const Limits& limits) {
  const std::scoped_lock lock(mutex_);
  limits_ = limits;
  fused_ = on_workers(runner.plan().lanes.fused);
  settings_ = fit_settings(settings_, limits);
  runners_.push_back(&runner);
  for (Runner* each : runners_) each->apply(settings_);
}

void LivePlant::detach(const Runner& runner) {
  const std::scoped_lock lock(mutex_);
  if (std::erase(runners_, &runner) != 0) count(runner.metrics(), counted_);
}

Limits LivePlant::limits() const {
  const std::scoped_lock lock(mutex_);
  Limits now = limits_;
  now[KnobId::kWorkers].high = engine_.max_workers();
  if (!runners_.empty()) {
    // What others have released is there for this one. What they have taken since is not taken from it here: where
    // memory is short, batches wait for it.
    std::int32_t& most = now[KnobId::kPrefetchDepth].high;
    const Runner& latest = *runners_.back();
    most = std::max(most, most_batches(latest.plan(), engine_, latest.arena()->bytes()));
  }
  now.cpus = engine_.cpu_budget();
  return now;
}

Observation LivePlant::observe() const {
  const std::scoped_lock lock(mutex_);
  Observation seen = counted_;
  seen.time_ns = monotonic_ns();
  seen.settings = settings_;
  seen.finished = runners_.empty();
  for (const Runner* runner : runners_) {
    count(runner->metrics(), seen);
    seen.ready_batches += runner->ready_batches();
    seen.upcoming.add(runner->upcoming());
  }
  const LaneSet& working = settings_[KnobId::kFused] != 0 ? fused_ : limits_.weighted;
  for (std::size_t i = 0; i < kLanes.size(); ++i) seen.lanes[i].valid = working[i];
  seen.lanes[lane_place(LaneRole::kFetch)].valid = true;
  seen.memory_used = engine_.memory().used();
  seen.process_cpu_seconds = static_cast<double>(process_cpu_ns()) * 1e-9;
  return seen;
}

void LivePlant::apply(const Settings& settings) {
  const std::scoped_lock lock(mutex_);
  settings_ = settings;
  for (Runner* runner : runners_) runner->apply(settings);
}

}  // namespace drapps
