#include "drapps/control/plant_stats.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "drapps/plant/schema.h"

namespace drapps {
namespace {

using nlohmann::json;

constexpr double kSecond = 1e-9;

json seconds(std::uint64_t ns) { return static_cast<double>(ns) * kSecond; }

json distribution(const HistogramCounts& counts, double unit = kSecond) {
  const auto value = [unit](std::uint64_t number) { return json(static_cast<double>(number) * unit); };
  json buckets = json::array();
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < kHistogramBuckets; ++i) {
    if (counts.buckets[i] == 0) continue;
    most = Histogram::upper_edge(i);
    buckets.push_back({value(most), counts.buckets[i]});
  }
  return {{"count", counts.count},
          {"sum", value(counts.sum)},
          {"mean", counts.mean() * unit},
          {"p50", value(counts.quantile(0.5))},
          {"p90", value(counts.quantile(0.9))},
          {"p99", value(counts.quantile(0.99))},
          {"most", value(most)},
          {"buckets", std::move(buckets)}};
}

/// The numbers that a struct lists, under their names; times are in seconds, and say so.
template <class Numbers>
json numbers_json(const Numbers& numbers) {
  json root = json::object();
  visit_numbers(
      [&root]<class Value>(const NumberInfo& info, const Value& value) {
        const bool is_time = info.unit == "ns";
        json& into = root[std::string(info.name) + (is_time ? "_s" : "")];
        if constexpr (std::is_same_v<Value, HistogramCounts>) {
          into = distribution(value, is_time ? kSecond : 1);
        } else if (is_time) {
          into = seconds(value);
        } else {
          into = value;
        }
      },
      numbers);
  return root;
}

json workers_json(const WorkerTimes& times) {
  json lanes = json::object();
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    const LaneTime& lane = times.lanes[i];
    if (lane.wall_ns == 0) continue;
    lanes[std::string(kLanes[i].name)] = {{"cpu_s", seconds(lane.cpu_ns)},
                                          {"core_wait_s", seconds(lane.wall_ns - std::min(lane.wall_ns, lane.cpu_ns))}};
  }
  json root = numbers_json(observation_of(times));
  root["cpu_s"] = seconds(times.cpu_ns);
  root["lanes"] = std::move(lanes);
  return root;
}

}  // namespace

void LaneCounts::add(const LaneMetrics& metrics) noexcept {
  service_wall += metrics.service_wall.counts();
  service_cpu += metrics.service_cpu.counts();
  queue_length += metrics.queue_length.counts();
  wait += metrics.wait.counts();
}

WorkerObservation observation_of(const WorkerTimes& times) noexcept {
  return {.workers = times.workers,
          .wall_ns = times.wall_ns,
          .idle_ns = times.waited(WorkFound::kNothing),
          .window_ns = times.waited(WorkFound::kWindow),
          .memory_ns = times.waited(WorkFound::kMemory),
          .storage_ns = times.waited(WorkFound::kStorage),
          .paused_ns = times.paused_ns,
          .other_ns = times.other_ns};
}

json to_json(const PlantStats& stats, KnobSet has) {
  json limits = json::object();
  for (const Knob& knob : knob_table()) {
    if (!has[static_cast<std::size_t>(knob.id)]) continue;
    limits[std::string(knob.name)] = {stats.limits[knob.id].low, stats.limits[knob.id].high};
  }
  json lanes = json::object();
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (!stats.used[i]) continue;
    const LaneCounts& lane = stats.lanes[i];
    lanes[std::string(kLanes[i].name)] = {{"valid", bool{stats.valid[i]}},
                                          {"service_s", distribution(lane.service_wall)},
                                          {"service_cpu_s", distribution(lane.service_cpu)},
                                          {"queue_length", distribution(lane.queue_length, 1)},
                                          {"wait_s", distribution(lane.wait)}};
  }
  return {{"settings", settings_to_json(stats.settings, has)},
          {"limits", std::move(limits)},
          {"batches", stats.batches},
          {"samples", stats.samples},
          {"failed_samples", stats.failed_samples},
          {"ready_batches", stats.ready_batches},
          {"consumer",
           {{"passes", stats.consumer.passes},
            {"step_s", distribution(stats.consumer.step)},
            {"stall_s", distribution(stats.consumer.stall)},
            {"helped_s", seconds(stats.consumer.helped_ns)},
            {"between_s", seconds(stats.consumer.between_ns)}}},
          {"lanes", std::move(lanes)},
          {"workers", workers_json(stats.workers)},
          {"storage", numbers_json(stats.storage)},
          {"device", numbers_json(stats.device)},
          {"upcoming", numbers_json(stats.upcoming)},
          {"memory", {{"used", stats.memory_used}, {"limit", stats.memory_limit}}}};
}

json to_json(const SampleTimes& sample) {
  json lanes = json::object();
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (sample.wall_ns[i] > 0) lanes[std::string(kLanes[i].name)] = seconds(sample.wall_ns[i]);
  }
  const auto slow = std::ranges::max_element(sample.wall_ns) - sample.wall_ns.begin();
  return {{"record", sample.record},
          {"epoch", sample.epoch},
          {"position", sample.position},
          {"rows", sample.rows},
          {"bytes", sample.bytes},
          {"seconds", seconds(sample.service_ns())},
          {"slow", kLanes[static_cast<std::size_t>(slow)].name},
          {"lanes", std::move(lanes)}};
}

}  // namespace drapps
