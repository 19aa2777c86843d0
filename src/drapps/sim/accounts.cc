#include "drapps/sim/accounts.h"

#include <algorithm>
#include <cmath>

namespace drapps::sim {
namespace {

constexpr double kNs = 1e9;
constexpr double kSlot = 2;  // batches that the consumer has beside those of the window

constexpr std::size_t kFetchLane = lane_place(LaneRole::kFetch);
constexpr std::size_t kPythonLane = lane_place(LaneRole::kPython);
constexpr std::size_t kPrepareLane = lane_place(LaneRole::kPrepare);
constexpr std::size_t kGpuDecodeLane = lane_place(LaneRole::kDecode, LaneDevice::kCuda);
constexpr std::size_t kGpuAugmentLane = lane_place(LaneRole::kAugment, LaneDevice::kCuda);
constexpr std::size_t kCopyLane = lane_place(LaneRole::kTransfer, LaneDevice::kCuda);

std::uint64_t ns_of(double seconds) noexcept { return static_cast<std::uint64_t>(std::max(0.0, seconds) * kNs); }
std::uint64_t whole(double count) noexcept { return static_cast<std::uint64_t>(std::max(0.0, count)); }

double per_sample_wall(double cpu, double speed) noexcept { return cpu / std::max(speed, 1e-9); }

}  // namespace

std::uint64_t time_ns_of(double seconds) noexcept {
  constexpr std::uint64_t kFirst = 1'000'000'000;
  return kFirst + static_cast<std::uint64_t>(std::llround(seconds * kNs));
}

void Accounts::add_lane(std::size_t lane, double count, double cpu, double wall) noexcept {
  if (count <= 0 || (cpu <= 0 && wall <= 0)) return;
  lanes_[lane] = true;
  now_.cpu[lane].count += count;
  now_.cpu[lane].seconds += count * cpu;
  now_.wall[lane].count += count;
  now_.wall[lane].seconds += count * wall;
}

void Accounts::add(const World& world, const Settings& settings, const Rates& rates,
                   const SteadyStretch& stretch) noexcept {
  const double seconds = stretch.seconds;
  const SampleCost& cost = rates.cost;
  const double here = stretch.output * (rates.prepare > 0 ? 1 - rates.remote / rates.prepare : 1);
  last_ = stretch;
  lanes_.reset();

  if (world.in_processes()) {
    add_lane(kPythonLane, here, cost.cpu_sum, per_sample_wall(cost.cpu_sum, rates.speed) + cost.sleep);
  } else if (settings[KnobId::kFused] != 0) {
    add_lane(kPrepareLane, here, cost.cpu_sum, per_sample_wall(cost.cpu_sum, rates.speed) + cost.sleep);
  } else {
    for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
      add_lane(lane_place(kStages[stage]), here, cost.cpu[stage], per_sample_wall(cost.cpu[stage], rates.speed));
    }
  }
  const auto gpu_time = [&](WorkStage stage, KnobId knob) {
    return world.machine.gpu.count > 0 ? world.workload.stages[stage].gpu * settings[knob] / kWeightUnit : 0;
  };
  add_lane(kGpuDecodeLane, here, 0, gpu_time(kDecodeStage, KnobId::kDecodeOnGpu));
  add_lane(kGpuAugmentLane, here, 0, gpu_time(kAugmentStage, KnobId::kAugmentOnGpu));
  const double copying = cost.copied > 0 ? cost.copied / world.machine.gpu.copy : 0;
  add_lane(kCopyLane, here, 0, copying);
  copies_ += here * copying;
  kernels_ += here * cost.gpu;

  const double reads = stretch.output * cost.read;
  if (reads > 0) {
    add_lane(kFetchLane, reads, 0, rates.read);
    now_.read.count += reads;
    now_.read.seconds += reads * rates.read;
    bytes_ += reads * world.workload.sample_bytes;
    refused_ += rates.refused * seconds * std::min(1.0, stretch.output / std::max(1e-9, rates.fetch * seconds));
    in_flight_ = std::min(rates.in_flight, reads / seconds * rates.read);
    read_busy_ += std::min(seconds, reads / std::max(1e-9, rates.fetch * cost.read));
  } else {
    in_flight_ = 0;
  }

  const double worked = here * (per_sample_wall(cost.cpu_sum, rates.speed) + cost.sleep);
  const double wall = stretch.makers * seconds;
  const double free = std::max(0.0, wall - worked);
  worker_wall_ += std::max(wall, worked);
  if (stretch.full && !world.in_processes()) {
    window_ += free;
  } else if (rates.fetch < rates.prepare) {
    storage_ += free;
  } else {
    idle_ += free;
  }

  const double core = here * cost.cpu_sum;
  waiting_ += here * (per_sample_wall(cost.cpu_sum, rates.speed) - cost.cpu_sum);
  const double step_core =
      stretch.paused ? 0 : stretch.taken / world.workload.batch * world.consumer.step * world.consumer.cpu;
  const double others = step_core + (stretch.starting * rates.speed + world.machine.cores.foreign) * seconds;
  training_core_ += step_core;
  other_cores_ += others;
  idle_cores_ += std::max(0.0, world.machine.cores.count * seconds - core - others);
  totals_.seconds += seconds;
  totals_.samples += stretch.taken;
  totals_.output += stretch.output;
  totals_.core += core;
  if (!stretch.paused) {
    totals_.steps += seconds;
    totals_.stall += stretch.stall;
    now_.step.seconds += seconds;
    now_.stall.seconds += stretch.stall;
  }
  now_.step.count += stretch.taken / world.workload.batch;
  now_.stall.count += stretch.taken / world.workload.batch;

  const double gpu_busy =
      world.machine.gpu.count > 0
          ? std::min(seconds, stretch.taken / world.workload.batch * rates.step * (1 - world.consumer.cpu) +
                                  stretch.output * cost.gpu)
          : 0;
  if (world.machine.gpu.count > 0) totals_.gpu_idle += seconds - gpu_busy;
  const PowerModel& power = world.machine.power;
  const double busy_cores = std::min(world.machine.cores.count * seconds, core + others);
  totals_.joules += power.idle * seconds + power.core * busy_cores;
  if (world.machine.gpu.count > 0) {
    totals_.joules += power.gpu_idle * (seconds - gpu_busy) + power.gpu_busy * gpu_busy;
  }
  totals_.cost += stretch.remote * world.machine.remote.cost * seconds / 3600;
  const double processes = world.in_processes() ? settings[KnobId::kProcesses] * world.machine.memory.process : 0;
  const double batches = (window_of(world, settings) + kSlot) * world.workload.batch * world.workload.row_bytes;
  totals_.memory = std::max(totals_.memory, processes + batches + stretch.kept);
}

PlantCounters Accounts::counters(std::uint64_t time_ns, const World& world) const noexcept {
  return {.time_ns = time_ns,
          .batches = whole(now_.step.count),
          .samples = whole(world.in_processes() ? totals_.output : totals_.samples),
          .stall_ns = ns_of(totals_.stall),
          .cpu_ns = ns_of(totals_.core)};
}

Observation Accounts::observe(std::uint64_t time_ns, const World& world, const Settings& settings) noexcept {
  Observation seen;
  seen.time_ns = time_ns;
  seen.batches = whole(now_.step.count);
  seen.samples = whole(world.in_processes() ? totals_.output : totals_.samples);
  seen.settings = settings;

  const auto spread = [](const Sum& now, const Sum& before) {
    Spread summary{.count = whole(now.count), .sum = ns_of(now.seconds)};
    const double came = now.count - before.count;
    if (summary.count > whole(before.count) && came > 0) {
      summary.p50 = summary.p90 = summary.p99 = summary.most = ns_of((now.seconds - before.seconds) / came);
    }
    return summary;
  };
  seen.consumer.passes = 1;
  seen.consumer.step = spread(now_.step, before_.step);
  seen.consumer.stall = spread(now_.stall, before_.stall);
  for (std::size_t lane = 0; lane < kLanes.size(); ++lane) {
    LaneObservation& each = seen.lanes[lane];
    each.valid = lanes_[lane];
    each.service_wall = spread(now_.wall[lane], before_.wall[lane]);
    each.service_cpu = spread(now_.cpu[lane], before_.cpu[lane]);
  }
  seen.workers = {.workers = whole(last_.makers),
                  .wall_ns = ns_of(worker_wall_),
                  .idle_ns = ns_of(idle_),
                  .window_ns = ns_of(window_),
                  .storage_ns = ns_of(storage_)};
  seen.storage.bytes = whole(bytes_);
  seen.storage.refusals = seen.storage.retries = whole(refused_);
  seen.storage.in_flight = whole(in_flight_);
  seen.storage.waited = spread(now_.read, before_.read);
  seen.device = {.copy_ns = ns_of(copies_), .kernel_ns = ns_of(kernels_)};
  if (world.in_processes()) {
    seen.processes.starting = static_cast<std::int32_t>(last_.starting);
    seen.processes.output = whole(totals_.output);
    seen.processes.demand_ns = ns_of(totals_.core);
    seen.processes.idle_cores_ns = ns_of(idle_cores_);
  } else {
    seen.ready_batches = static_cast<std::uint32_t>(last_.ready);
  }
  seen.upcoming = {.samples = Upcoming::kMost,
                   .sized = Upcoming::kMost,
                   .bytes = whole(static_cast<double>(Upcoming::kMost) * world.workload.sample_bytes)};
  seen.memory_limit = whole(world.machine.memory.limit);
  const double batches = settings[KnobId::kPrefetchDepth] * world.workload.batch * world.workload.row_bytes;
  seen.memory_used = whole(std::min(world.machine.memory.limit, last_.kept + batches));
  seen.process_cpu_seconds = training_core_ + (world.in_processes() ? 0 : totals_.core);

  const double passed = totals_.seconds - looked_.seconds;
  if (passed > 0) {
    MachineReadings readings{};
    const auto at = [&](double value) { return reading(value, time_ns); };
    const double cores = world.machine.cores.count * passed;
    const double used = totals_.core - looked_.core + other_cores_ - looked_other_;
    readings.cpu.use_mean = at(std::min(1.0, used / cores));
    const double busy = std::min(1.0, (read_busy_ - looked_busy_) / passed);
    readings.cpu.iowait_mean = at((1 - std::min(1.0, used / cores)) * busy);
    readings.memory.available = at(std::max(0.0, world.machine.memory.limit - static_cast<double>(seen.memory_used)));
    readings.memory.total = at(world.machine.memory.limit);
    if (world.in_processes()) readings.tasks.processes_wait = at((waiting_ - looked_waiting_) / passed);
    if (world.storage_waits()) readings.disk.data_busy = at(busy);
    if (world.machine.gpu.count > 0) {
      readings.gpu.mean.use = at(1 - std::min(1.0, (totals_.gpu_idle - looked_.gpu_idle) / passed));
      readings.gpu.max.use = readings.gpu.mean.use;
    }
    seen.meters = observation_of(readings, time_ns);
  }
  before_ = now_;
  looked_ = totals_;
  looked_other_ = other_cores_;
  looked_busy_ = read_busy_;
  looked_waiting_ = waiting_;
  return seen;
}

}  // namespace drapps::sim
