#include "drapps/control/live_plant.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "drapps/base/clock.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/guard.h"
#include "drapps/storage/reader.h"

namespace drapps {
namespace {

constexpr std::size_t kFetchPlace = lane_place(LaneRole::kFetch);
constexpr std::size_t kDecodeThere = lane_place(LaneRole::kDecode, LaneDevice::kCuda);

/// Half of the bytes that others leave, when `own` of those in use are this plant's.
std::size_t half_of_memory(const Engine& engine, std::size_t own) {
  const MemoryLedger& memory = engine.memory();
  const std::size_t used = memory.used() - std::min(memory.used(), memory.releasable() + own);
  return (memory.limit() - std::min(memory.limit(), used)) / 2;
}

/// Batches that memory has room for beside others', when these have `own` bytes.
std::int32_t most_batches(const Plan& plan, const Engine& engine, std::size_t own) {
  const std::size_t batches = half_of_memory(engine, own) / std::max<std::size_t>(plan.layout.bytes(), 1);
  return static_cast<std::int32_t>(std::clamp<std::size_t>(batches, 1, 32));
}

/// Reads that memory has room for when each takes `record` bytes, in notches, so that what others do moves it seldom.
/// Up to twice as many records are in memory as are read at once: what was read waits for a worker. Where the size is
/// not known, 0, it is no limit.
std::int32_t most_reads(double record, const Engine& engine, std::int32_t depth) {
  if (record <= 0) return kMaxReadDepth;
  const auto own = static_cast<std::size_t>(2 * depth * record);
  const double reads = static_cast<double>(half_of_memory(engine, own)) / (2 * record);
  const Knob& knob = knob_table()[static_cast<std::size_t>(KnobId::kIoDepth)];
  return knob.grid[notch_of(knob, static_cast<std::int32_t>(std::min<double>(reads, kMaxReadDepth)))];
}

}  // namespace

Limits live_limits(const Plan& plan, const Engine& engine, const LateStage* late) {
  Limits limits =
      native_limits(engine.max_workers(), kMaxReadDepth, most_batches(plan, engine, 0), !plan.lanes.split.empty());
  limits.cpus = engine.cpu_budget();
  limits.weighted = on_workers(plan.lanes.split);
  if (late != nullptr) limits[KnobId::kDecodeOnGpu] = {0, kWeightUnit};
  if (late != nullptr && late->augments()) limits[KnobId::kAugmentOnGpu] = {0, kWeightUnit};
  return limits;
}

LivePlant::LivePlant(Engine& engine, std::shared_ptr<const Storage> storage, const Settings& settings,
                     const Limits& limits, std::shared_ptr<const LateStage> late)
    : engine_(engine), storage_(std::move(storage)), late_(std::move(late)), limits_(limits), settings_(settings) {}

void LivePlant::attach(Runner& runner, const Limits& limits) {
  const std::scoped_lock lock(mutex_);
  limits_ = limits;
  fused_ = on_workers(runner.plan().lanes.fused);
  for (const auto* lanes : {&runner.plan().lanes.fused, &runner.plan().lanes.split}) {
    for (const PlanLane& lane : *lanes) lanes_[lane.place] = true;
  }
  lanes_[kFetchPlace] = runner.plan().streams == nullptr;  // those read what they need themselves
  lanes_[kDecodeThere] = limits[KnobId::kDecodeOnGpu].high > 0;
  settings_ = fit_settings(settings_, limits);
  runners_.push_back(&runner);
  runner.metrics().log.sample(sample_room_);
  for (Runner* each : runners_) each->apply(settings_);
}

void LivePlant::detach(const Runner& runner) {
  const std::scoped_lock lock(mutex_);
  if (std::erase(runners_, &runner) == 0) return;
  const Metrics& metrics = runner.metrics();
  batches_ += metrics.batches.load(std::memory_order_relaxed);
  samples_ += metrics.samples.load(std::memory_order_relaxed);
  failed_samples_ += metrics.failed_samples.load(std::memory_order_relaxed);
  device_ += metrics.device.read();
  log_.merge(metrics.log);
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (lanes_[i]) counted_[i].add(metrics[i]);
  }
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
    now[KnobId::kIoDepth].high = most_reads(record_bytes(latest), engine_, settings_[KnobId::kIoDepth]);
  }
  now.cpus = engine_.cpu_budget();
  return now;
}

double LivePlant::record_bytes(const Runner& runner) const {
  const Upcoming upcoming = upcoming_before_.samples > 0 ? upcoming_before_ : runner.upcoming();
  if (upcoming.sized > 0) return static_cast<double>(upcoming.bytes) / static_cast<double>(upcoming.sized);
  const std::uint64_t reads = storage_before_.at_once.count + storage_before_.waited.count;
  if (reads == 0) return 0;
  return static_cast<double>(storage_->meter().bytes.load(std::memory_order_relaxed)) / static_cast<double>(reads);
}

PlantCounters LivePlant::counters() const {
  const std::scoped_lock lock(mutex_);
  PlantCounters now{.time_ns = monotonic_ns(), .batches = batches_, .samples = samples_};
  now.stall_ns = consumer_->stall_ns(now.time_ns);
  now.finished = runners_.empty();
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    now.cpu_ns += counted_[i].service_cpu.sum;
    for (const Runner* runner : runners_) now.cpu_ns += runner->metrics()[i].service_cpu.sum();
  }
  for (const Runner* runner : runners_) {
    now.batches += runner->metrics().batches.load(std::memory_order_relaxed);
    now.samples += runner->metrics().samples.load(std::memory_order_relaxed);
  }
  return now;
}

/// Whether anything was done in the lane since the observation before.
bool LivePlant::came(std::size_t lane) const {
  std::uint64_t wall = counted_[lane].service_wall.sum;
  for (const Runner* runner : runners_) wall += runner->metrics()[lane].service_wall.sum();
  return wall != lanes_before_[lane].service_wall.sum;
}

LaneCounts LivePlant::counts(std::size_t lane) const {
  LaneCounts counts = counted_[lane];
  for (const Runner* runner : runners_) counts.add(runner->metrics()[lane]);
  return counts;
}

Observation LivePlant::observe() {
  const std::scoped_lock lock(mutex_);
  Observation seen{.time_ns = monotonic_ns(), .batches = batches_, .samples = samples_};
  seen.settings = settings_;
  seen.finished = runners_.empty();
  for (const Runner* runner : runners_) {
    seen.batches += runner->metrics().batches.load(std::memory_order_relaxed);
    seen.samples += runner->metrics().samples.load(std::memory_order_relaxed);
    seen.ready_batches += runner->ready_batches();
    seen.upcoming.add(runner->upcoming());
  }
  const LaneSet valid = valid_lanes();
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (!lanes_[i]) continue;
    LaneCounts& before = lanes_before_[i];
    // Nothing comes from lanes that the plan has and does not use now.
    const LaneCounts now = valid[i] || came(i) ? counts(i) : before;
    seen.lanes[i] = {.valid = valid[i],
                     .service_wall = spread(now.service_wall, before.service_wall),
                     .service_cpu = spread(now.service_cpu, before.service_cpu),
                     .queue_length = spread(now.queue_length, before.queue_length),
                     .wait = spread(now.wait, before.wait)};
  }
  upcoming_before_ = seen.upcoming;
  seen.consumer = consumer_->observe(seen.time_ns);
  seen.workers = observation_of(engine_.workers().times());
  seen.storage = observe_storage();
  seen.device = device_counts();
  seen.memory_used = std::as_const(engine_).memory().used();
  seen.memory_limit = std::as_const(engine_).memory().limit();
  seen.process_cpu_seconds = static_cast<double>(process_cpu_ns()) * 1e-9;
  return seen;
}

StorageObservation LivePlant::observe_storage() {
  const StorageCounts now = storage_->meter().counts();
  StorageObservation seen;
  visit_numbers(
      []<class Value>(const NumberInfo&, auto& to, const Value& value, Value& before) {
        if constexpr (std::is_same_v<Value, HistogramCounts>) {
          to = spread(value, before);
        } else {
          to = static_cast<std::uint64_t>(std::max(value, Value{0}));
        }
      },
      seen, now, storage_before_);
  return seen;
}

device::DeviceCounts LivePlant::device_counts() const {
  device::DeviceCounts counts = device_;
  for (const Runner* runner : runners_) counts += runner->metrics().device.read();
  if (late_ != nullptr) counts += late_->counts().device;
  return counts;
}

LaneSet LivePlant::valid_lanes() const {
  LaneSet valid = settings_[KnobId::kFused] != 0 ? fused_ : limits_.weighted;
  valid[kFetchPlace] = lanes_[kFetchPlace];
  valid[kDecodeThere] = lanes_[kDecodeThere] && settings_[KnobId::kDecodeOnGpu] > 0;
  return valid;
}

PlantStats LivePlant::stats() const {
  PlantStats stats;
  stats.limits = limits();
  const std::scoped_lock lock(mutex_);
  stats.settings = settings_;
  stats.batches = batches_;
  stats.samples = samples_;
  stats.failed_samples = failed_samples_;
  stats.device = device_counts();
  for (const Runner* runner : runners_) {
    const Metrics& metrics = runner->metrics();
    stats.batches += metrics.batches.load(std::memory_order_relaxed);
    stats.samples += metrics.samples.load(std::memory_order_relaxed);
    stats.failed_samples += metrics.failed_samples.load(std::memory_order_relaxed);
    stats.ready_batches += runner->ready_batches();
    stats.upcoming.add(runner->upcoming());
  }
  stats.consumer = consumer_->counts(monotonic_ns());
  stats.valid = valid_lanes();
  stats.used = lanes_;
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (lanes_[i]) stats.lanes[i] = counts(i);
  }
  stats.workers = engine_.workers().times();
  stats.storage = storage_->meter().counts();
  stats.memory_used = std::as_const(engine_).memory().used();
  stats.memory_limit = std::as_const(engine_).memory().limit();
  return stats;
}

void LivePlant::sample(std::size_t room) {
  const std::scoped_lock lock(mutex_);
  sample_room_ = room;
  log_.sample(room);
  for (const Runner* runner : runners_) runner->metrics().log.sample(room);
}

SampleReservoir LivePlant::take_samples() {
  const std::scoped_lock lock(mutex_);
  SampleReservoir taken = log_.take();
  for (const Runner* runner : runners_) taken.merge(runner->metrics().log.take());
  return taken;
}

std::vector<SampleTimes> LivePlant::slowest() const {
  SampleLog all;
  const std::scoped_lock lock(mutex_);
  all.merge(log_);
  for (const Runner* runner : runners_) all.merge(runner->metrics().log);
  return all.slowest();
}

Settings LivePlant::settings() const {
  const std::scoped_lock lock(mutex_);
  return settings_;
}

void LivePlant::apply(const Settings& settings) {
  const std::scoped_lock lock(mutex_);
  settings_ = settings;
  for (Runner* runner : runners_) runner->apply(settings);
}

}  // namespace drapps
