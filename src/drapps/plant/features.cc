#include "drapps/plant/features.h"

#include <algorithm>
#include <cmath>

#include "drapps/base/exact_math.h"
#include "drapps/base/never_destroyed.h"
#include "drapps/plant/knob_range.h"

namespace drapps {
namespace {

constexpr double kCut = 5;
constexpr std::string_view kShare = "share";
constexpr std::string_view kLog = "log2";
constexpr std::string_view kFlag = "flag";

double grown(std::uint64_t now, std::uint64_t before) noexcept {
  return now > before ? static_cast<double>(now - before) : 0;
}
double ratio(double part, double whole) noexcept { return whole > 0 ? part / whole : 0; }
/// Not the library's logarithm, which is not the same everywhere: decisions of learned policies hang on it.
double log2_of(double value) noexcept {
  constexpr double kPerLn2 = 1.44269504088896340736;
  return exact::log(std::clamp(value, 1e-300, 1e300)) * kPerLn2;
}
double log_ratio(double a, double b) noexcept { return a > 0 && b > 0 ? log2_of(a / b) : 0; }

using FormNames = EnumNames<cache::FormId>;

/// Where a knob stands between its lowest and its highest place, 0 to 1; of one without an order, on which value.
template <class Put>
void each_knob_feature(const Settings& settings, const Limits& limits, const Put& put) {
  for (const Knob& knob : knob_table()) {
    const KnobRange range(knob, limits);
    if (knob.ordered) {
      put("knob", knob.name, kShare, "notches from the lowest, of all within the limits",
          ratio(range.place(settings[knob.id]), range.place(range.high())));
      continue;
    }
    for (std::size_t value = 0; value < knob.grid.size(); ++value) {
      const bool there = range.low() < range.high() && settings[knob.id] == knob.grid[value];
      put("knob.form", FormNames::kNames[value], kFlag, "settings", there ? 1 : 0);
    }
  }
}

/// The features of the machine, each with a flag that tells whether it is there.
template <class Put>
void each_meter_feature(const Observation& now, double storage_rate, double cores, const Put& put) {
  const MeterObservation& meters = now.meters;
  const auto add = [&](std::string_view name, std::string_view unit, std::string_view source, bool valid,
                       double value) {
    put("meter", name, unit, source, valid ? value : 0);
    put("meter_valid", name, kFlag, "meters", valid ? 1 : 0);
  };
  const auto value = [&](const Reading& of) { return meters.value(place_of(of)); };
  const auto has = [&](const Reading& of) { return meters.has(place_of(of)); };
  const auto share = [&](std::string_view name, const Reading& of) {
    add(name, kShare, machine_info()[place_of(of)].name, has(of), value(of));
  };
  const auto share_of = [&](std::string_view name, std::string_view source, const Reading& part, const Reading& whole) {
    add(name, kShare, source, has(part) && has(whole), ratio(value(part), value(whole)));
  };
  share("cpu_use", kPlaces.cpu.use_mean);
  share("cpu_iowait", kPlaces.cpu.iowait_mean);
  share("cpu_steal", kPlaces.cpu.steal_mean);
  add("threads_wait", kShare, "threads.wait ÷ budget of cores", has(kPlaces.tasks.threads_wait),
      ratio(value(kPlaces.tasks.threads_wait), cores));
  add("processes_wait", kShare, "processes.wait ÷ budget of cores", has(kPlaces.tasks.processes_wait),
      ratio(value(kPlaces.tasks.processes_wait), cores));
  add("throttled", kShare, "cgroup.throttled ÷ budget of cores", has(kPlaces.cgroup.throttled),
      ratio(value(kPlaces.cgroup.throttled), cores));
  share("throttled_periods", kPlaces.cgroup.throttled_periods);
  share_of("cgroup_memory", "cgroup.memory_used ÷ limit", kPlaces.cgroup.memory_used, kPlaces.cgroup.memory_limit);
  add("cgroup_memory_hits", kLog, "cgroup.memory_hits a second, and 1", has(kPlaces.cgroup.memory_hits),
      log2_of(1 + value(kPlaces.cgroup.memory_hits)));
  share("cpu_pressure", kPlaces.pressure.cpu);
  share("memory_pressure", kPlaces.pressure.memory);
  share("io_pressure", kPlaces.pressure.io);
  share_of("memory_available", "memory.available ÷ total", kPlaces.memory.available, kPlaces.memory.total);
  add("swap", kLog, "MB/s from and to swap, and 1", has(kPlaces.memory.swap_in) && has(kPlaces.memory.swap_out),
      log2_of(1 + 1e-6 * (value(kPlaces.memory.swap_in) + value(kPlaces.memory.swap_out))));
  share("disk_busy", kPlaces.disk.data_busy);
  add("disk_queue", kLog, "disk.data_queue, and 1", has(kPlaces.disk.data_queue),
      log2_of(1 + value(kPlaces.disk.data_queue)));
  add("disk_read_time", kLog, "disk.data_read_time ÷ 1 ms", has(kPlaces.disk.data_read_time),
      log_ratio(value(kPlaces.disk.data_read_time), 1e-3));
  add("network_received", kLog, "network.received ÷ bytes/s read", has(kPlaces.network.received),
      log_ratio(value(kPlaces.network.received), storage_rate));
  share("gpu_use_mean", kPlaces.gpu.mean.use);
  share("gpu_use_max", kPlaces.gpu.max.use);
  share_of("gpu_memory", "gpu.memory_used_mean ÷ total", kPlaces.gpu.mean.memory_used, kPlaces.gpu.mean.memory_total);
  share("resident", kPlaces.residency.resident);
}

/// Calls put(group, name, unit, source, value) for each feature, in order.
template <class Put>
void each_feature(const Observation& now, const FeatureCounters& before, const Limits& limits, const Put& put) {
  const double ns = grown(now.time_ns, before.time_ns);
  const double samples = grown(now.samples, before.samples);
  const double core_ns = ns * std::max(limits.cpus, 0.0);

  double lanes_wall = 0;
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    lanes_wall += grown(now.lanes[i].service_wall.sum, before.wall_ns[i]);
  }
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    const LaneObservation& lane = now.lanes[i];
    const double wall = grown(lane.service_wall.sum, before.wall_ns[i]);
    const double cpu = grown(lane.service_cpu.sum, before.cpu_ns[i]);
    const std::string_view name = kLanes[i].name;
    put(name, "work", kShare, "service wall time of all lanes", ratio(wall, lanes_wall));
    put(name, "cores", kShare, "service CPU time, of the budget of cores", ratio(cpu, core_ns));
    put(name, "stretch", kLog, "service wall ÷ CPU time", log_ratio(wall, cpu));
  }

  const ConsumerObservation& consumer = now.consumer;
  put("consumer", "stall", kShare, "stall ÷ time", ratio(grown(consumer.stall.sum, before.stall_ns), ns));
  put("consumer", "helped", kShare, "helped ÷ time", ratio(grown(consumer.helped_ns, before.helped_ns), ns));
  put("consumer", "between", kShare, "time between passes ÷ time",
      ratio(grown(consumer.between_ns, before.between_ns), ns));
  put("consumer", "step_spread", kLog, "step p90 ÷ p50",
      log_ratio(static_cast<double>(consumer.step.p90), static_cast<double>(consumer.step.p50)));
  const double demand_ns =
      ratio(grown(consumer.step.sum, before.step_ns) - grown(consumer.stall.sum, before.stall_ns), samples);
  const double cost_ns = ratio(lanes_wall, samples * std::max(limits.cpus, 1.0));
  put("consumer", "demand", kLog, "step without stall a sample ÷ service a sample and core",
      log_ratio(demand_ns, cost_ns));

  const WorkerObservation& workers = now.workers;
  const double worker_ns = grown(workers.wall_ns, before.workers.wall_ns);
  const auto account = [&](std::string_view name, std::uint64_t WorkerObservation::* field) {
    put("workers", name, kShare, "account ÷ wall time of the workers",
        ratio(grown(workers.*field, before.workers.*field), worker_ns));
  };
  account("idle", &WorkerObservation::idle_ns);
  account("window", &WorkerObservation::window_ns);
  account("memory", &WorkerObservation::memory_ns);
  account("storage", &WorkerObservation::storage_ns);
  account("paused", &WorkerObservation::paused_ns);
  account("other", &WorkerObservation::other_ns);

  const StorageObservation& storage = now.storage;
  const double at_once = grown(storage.at_once.count, before.at_once);
  const double waited = grown(storage.waited.count, before.waited);
  const double bytes = ratio(grown(storage.bytes, before.bytes), at_once + waited);
  put("storage", "waited", kShare, "reads that waited ÷ reads", ratio(waited, at_once + waited));
  put("storage", "latency", kLog, "p50 of reads that waited ÷ 1 ms",
      log_ratio(static_cast<double>(storage.waited.p50), 1e6));
  put("storage", "latency_spread", kLog, "p99 ÷ p50 of reads that waited",
      log_ratio(static_cast<double>(storage.waited.p99), static_cast<double>(storage.waited.p50)));
  put("storage", "refused", kShare, "refusals ÷ reads and refusals",
      ratio(grown(storage.refusals, before.refusals), at_once + waited + grown(storage.refusals, before.refusals)));
  put("storage", "depth_used", kShare, "reads in flight ÷ io_depth",
      ratio(static_cast<double>(storage.in_flight), now.settings[KnobId::kIoDepth]));

  const auto upcoming = [&](std::uint64_t known) {
    return ratio(static_cast<double>(known), static_cast<double>(now.upcoming.samples));
  };
  put("upcoming", "bytes", kLog, "bytes a sample to come ÷ bytes a sample read",
      log_ratio(ratio(static_cast<double>(now.upcoming.bytes), static_cast<double>(now.upcoming.sized)), bytes));
  put("upcoming", "pixels", kLog, "pixels a sample to come ÷ those of the observation before",
      log_ratio(ratio(static_cast<double>(now.upcoming.pixels), static_cast<double>(now.upcoming.seen)),
                ratio(static_cast<double>(before.pixels), static_cast<double>(before.seen))));
  put("upcoming", "sized", kShare, "samples to come of known bytes", upcoming(now.upcoming.sized));
  put("upcoming", "seen", kShare, "samples to come of known pixels", upcoming(now.upcoming.seen));
  put("upcoming", "indexed", kShare, "samples to come with a whole index", upcoming(now.upcoming.indexed));

  put("batches", "ready", kShare, "ready batches ÷ prefetch_depth",
      ratio(now.ready_batches, now.settings[KnobId::kPrefetchDepth]));
  put("memory", "used", kShare, "memory used ÷ limit",
      ratio(static_cast<double>(now.memory_used), static_cast<double>(now.memory_limit)));
  const double cpu_ns = 1e9 * std::max(0.0, now.process_cpu_seconds - before.cpu_seconds);
  put("process", "cores", kShare, "CPU time of the process, of the budget of cores", ratio(cpu_ns, core_ns));
  put("processes", "idle_cores", kShare, "idle cores, of the budget of cores",
      ratio(grown(now.processes.idle_cores_ns, before.idle_cores_ns), core_ns));
  put("turn", "open", kFlag, "turn", now.turn == Turn::kOpen ? 1 : 0);

  each_knob_feature(now.settings, limits, put);
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    put("valid", kLanes[i].name, kFlag, "the plan", now.lanes[i].valid ? 1 : 0);
  }
  each_meter_feature(now, 1e9 * ratio(grown(storage.bytes, before.bytes), ns), limits.cpus, put);
}

}  // namespace

const std::vector<FeatureDescription>& feature_descriptions() {
  static const NeverDestroyed<const std::vector<FeatureDescription>> descriptions([] {
    std::vector<FeatureDescription> list;
    each_feature({}, {}, {},
                 [&](std::string_view group, std::string_view name, std::string_view unit, std::string_view source,
                     double) { list.push_back({std::string(group) + "." + std::string(name), unit, source}); });
    return list;
  }());
  return *descriptions;
}

FeatureCounters feature_counters(const Observation& observation) noexcept {
  FeatureCounters counters{.time_ns = observation.time_ns,
                           .samples = observation.samples,
                           .step_ns = observation.consumer.step.sum,
                           .stall_ns = observation.consumer.stall.sum,
                           .helped_ns = observation.consumer.helped_ns,
                           .between_ns = observation.consumer.between_ns,
                           .workers = observation.workers,
                           .bytes = observation.storage.bytes,
                           .at_once = observation.storage.at_once.count,
                           .waited = observation.storage.waited.count,
                           .refusals = observation.storage.refusals,
                           .seen = observation.upcoming.seen,
                           .pixels = observation.upcoming.pixels,
                           .idle_cores_ns = observation.processes.idle_cores_ns,
                           .cpu_seconds = observation.process_cpu_seconds};
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    counters.wall_ns[i] = observation.lanes[i].service_wall.sum;
    counters.cpu_ns[i] = observation.lanes[i].service_cpu.sum;
  }
  return counters;
}

Features features(const Observation& now, const Observation& before, const Limits& limits) noexcept {
  return features_since(feature_counters(before), now, limits);
}

Features features_since(const FeatureCounters& before, const Observation& now, const Limits& limits) noexcept {
  Features values;
  std::size_t at = 0;
  each_feature(now, before, limits,
               [&](std::string_view, std::string_view, std::string_view, std::string_view, double value) {
                 values[at++] = static_cast<float>(std::isfinite(value) ? std::clamp(value, -kCut, kCut) : 0);
               });
  return values;
}

}  // namespace drapps
