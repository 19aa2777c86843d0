// What an observation holds, listed once: traces, the schema, the guard and the documentation are made from this list.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "drapps/plant/plant.h"

namespace drapps {

enum class FieldKind : std::uint8_t {
  kCounter,  // only ever rises while the plant lives, where its lane is valid
  kGauge,
};

/// A name in up to three parts, "decode" "service_wall" "p50", which "." joins; empty parts are left out.
struct FieldName {
  std::string_view group;
  std::string_view of;
  std::string_view part;
};

struct FieldInfo {
  std::string_view unit;    // "ns", "bytes", "samples", …
  std::string_view source;  // who counts it
  FieldKind kind = FieldKind::kGauge;
  std::size_t lane = kLanes.size();  // whose field it is
};

namespace detail {

template <class S, class Visit>
constexpr void visit_spread(S& spread, std::string_view group, std::string_view of, FieldInfo info,
                            const Visit& visit) {
  const FieldInfo counter{info.unit, info.source, FieldKind::kCounter, info.lane};
  const FieldInfo count{"", info.source, FieldKind::kCounter, info.lane};
  visit(FieldName{group, of, "count"}, count, spread.count);
  visit(FieldName{group, of, "sum"}, counter, spread.sum);
  visit(FieldName{group, of, "p50"}, info, spread.p50);
  visit(FieldName{group, of, "p90"}, info, spread.p90);
  visit(FieldName{group, of, "p99"}, info, spread.p99);
  visit(FieldName{group, of, "most"}, info, spread.most);
}

}  // namespace detail

/// The same as visit_fields(), of a part of an observation, or of what counts it under the same names.
template <class Numbers, class Visit>
constexpr void visit_worker_numbers(Numbers& workers, const Visit& visit) {
  constexpr FieldKind kCounter = FieldKind::kCounter;
  constexpr FieldKind kGauge = FieldKind::kGauge;
  constexpr std::string_view kAccounts = "accounts of the workers";
  visit(FieldName{"workers", "count", ""}, FieldInfo{"workers", kAccounts, kGauge}, workers.workers);
  visit(FieldName{"workers", "wall", ""}, FieldInfo{"ns", kAccounts, kCounter}, workers.wall_ns);
  visit(FieldName{"workers", "idle", ""}, FieldInfo{"ns", kAccounts, kCounter}, workers.idle_ns);
  visit(FieldName{"workers", "window", ""}, FieldInfo{"ns", kAccounts, kCounter}, workers.window_ns);
  visit(FieldName{"workers", "memory", ""}, FieldInfo{"ns", kAccounts, kCounter}, workers.memory_ns);
  visit(FieldName{"workers", "storage", ""}, FieldInfo{"ns", kAccounts, kCounter}, workers.storage_ns);
  visit(FieldName{"workers", "paused", ""}, FieldInfo{"ns", kAccounts, kCounter}, workers.paused_ns);
  visit(FieldName{"workers", "other", ""}, FieldInfo{"ns", kAccounts, kCounter}, workers.other_ns);
}

template <class Numbers, class Visit>
constexpr void visit_storage_numbers(Numbers& storage, const Visit& visit) {
  constexpr FieldKind kCounter = FieldKind::kCounter;
  constexpr FieldKind kGauge = FieldKind::kGauge;
  constexpr std::string_view kMeter = "storage meter";
  visit(FieldName{"storage", "bytes", ""}, FieldInfo{"bytes", kMeter, kCounter}, storage.bytes);
  visit(FieldName{"storage", "failures", ""}, FieldInfo{"reads", kMeter, kCounter}, storage.failures);
  visit(FieldName{"storage", "refusals", ""}, FieldInfo{"reads", kMeter, kCounter}, storage.refusals);
  visit(FieldName{"storage", "retries", ""}, FieldInfo{"reads", kMeter, kCounter}, storage.retries);
  visit(FieldName{"storage", "in_flight", ""}, FieldInfo{"reads", kMeter, kGauge}, storage.in_flight);
}

template <class Numbers, class Visit>
constexpr void visit_device_numbers(Numbers& device, const Visit& visit) {
  constexpr FieldKind kCounter = FieldKind::kCounter;
  constexpr std::string_view kEvents = "events of the device's streams";
  visit(FieldName{"device", "launches", ""}, FieldInfo{"launches", kEvents, kCounter}, device.launches);
  visit(FieldName{"device", "bytes_in", ""}, FieldInfo{"bytes", kEvents, kCounter}, device.bytes_in);
  visit(FieldName{"device", "bytes_out", ""}, FieldInfo{"bytes", kEvents, kCounter}, device.bytes_out);
  visit(FieldName{"device", "copy", ""}, FieldInfo{"ns", kEvents, kCounter}, device.copy_ns);
  visit(FieldName{"device", "kernel", ""}, FieldInfo{"ns", kEvents, kCounter}, device.kernel_ns);
}

template <class Numbers, class Visit>
constexpr void visit_upcoming_numbers(Numbers& upcoming, const Visit& visit) {
  constexpr FieldKind kGauge = FieldKind::kGauge;
  constexpr std::string_view kOrder = "order and source";
  visit(FieldName{"upcoming", "samples", ""}, FieldInfo{"samples", kOrder, kGauge}, upcoming.samples);
  visit(FieldName{"upcoming", "sized", ""}, FieldInfo{"samples", kOrder, kGauge}, upcoming.sized);
  visit(FieldName{"upcoming", "bytes", ""}, FieldInfo{"bytes", kOrder, kGauge}, upcoming.bytes);
  visit(FieldName{"upcoming", "seen", ""}, FieldInfo{"samples", kOrder, kGauge}, upcoming.seen);
  visit(FieldName{"upcoming", "pixels", ""}, FieldInfo{"pixels", kOrder, kGauge}, upcoming.pixels);
  visit(FieldName{"upcoming", "indexed", ""}, FieldInfo{"samples", kOrder, kGauge}, upcoming.indexed);
}

/// Calls visit(FieldName, FieldInfo, value&) for each number of an observation, const or not, in a fixed order. Values
/// are integers, bool, double, Turn.
template <class O, class Visit>
constexpr void visit_fields(O& seen, const Visit& visit) {
  constexpr FieldKind kCounter = FieldKind::kCounter;
  constexpr FieldKind kGauge = FieldKind::kGauge;
  visit(FieldName{"", "time", ""}, FieldInfo{"ns", "monotonic clock", kCounter}, seen.time_ns);
  visit(FieldName{"", "batches", ""}, FieldInfo{"batches", "delivery", kCounter}, seen.batches);
  visit(FieldName{"", "samples", ""}, FieldInfo{"samples", "delivery", kCounter}, seen.samples);

  auto& consumer = seen.consumer;
  constexpr std::string_view kOutermost = "outermost iterator";
  visit(FieldName{"consumer", "passes", ""}, FieldInfo{"passes", kOutermost, kCounter}, consumer.passes);
  visit(FieldName{"consumer", "samples", ""}, FieldInfo{"samples", kOutermost, kCounter}, consumer.samples);
  detail::visit_spread(consumer.step, "consumer", "step", {"ns", kOutermost}, visit);
  detail::visit_spread(consumer.stall, "consumer", "stall", {"ns", kOutermost}, visit);
  visit(FieldName{"consumer", "helped", ""}, FieldInfo{"ns", kOutermost, kCounter}, consumer.helped_ns);
  visit(FieldName{"consumer", "between", ""}, FieldInfo{"ns", kOutermost, kCounter}, consumer.between_ns);

  for (std::size_t place = 0; place < kLanes.size(); ++place) {
    auto& lane = seen.lanes[place];
    const std::string_view name = kLanes[place].name;
    visit(FieldName{name, "valid", ""}, FieldInfo{"", "plan", kGauge, place}, lane.valid);
    detail::visit_spread(lane.service_wall, name, "service_wall", {"ns", "workers", kGauge, place}, visit);
    detail::visit_spread(lane.service_cpu, name, "service_cpu", {"ns", "workers' CPU clocks", kGauge, place}, visit);
    detail::visit_spread(lane.queue_length, name, "queue_length", {"samples", "queues", kGauge, place}, visit);
    detail::visit_spread(lane.wait, name, "wait", {"ns", "queues", kGauge, place}, visit);
  }

  visit_worker_numbers(seen.workers, visit);
  auto& storage = seen.storage;
  constexpr std::string_view kMeter = "storage meter";
  visit_storage_numbers(storage, visit);
  detail::visit_spread(storage.at_once, "storage", "at_once", {"ns", kMeter}, visit);
  detail::visit_spread(storage.waited, "storage", "waited", {"ns", kMeter}, visit);

  visit_device_numbers(seen.device, visit);

  auto& processes = seen.processes;
  constexpr std::string_view kBoard = "board of the worker processes";
  visit(FieldName{"processes", "starting", ""}, FieldInfo{"processes", kBoard, kGauge}, processes.starting);
  visit(FieldName{"processes", "leaving", ""}, FieldInfo{"processes", kBoard, kGauge}, processes.leaving);
  visit(FieldName{"processes", "made", ""}, FieldInfo{"samples and batches", kBoard, kCounter}, processes.made);
  visit(FieldName{"processes", "demand", ""}, FieldInfo{"ns", "CPU clocks of the processes", kCounter},
        processes.demand_ns);
  visit(FieldName{"processes", "idle_cores", ""}, FieldInfo{"ns", "/proc/stat", kCounter}, processes.idle_cores_ns);
  visit(FieldName{"processes", "idle", ""}, FieldInfo{"times", "consumer", kCounter}, processes.idle);

  for (const Knob& knob : knob_table()) {
    visit(FieldName{"settings", knob.name, ""}, FieldInfo{knob.unit, "plant", kGauge}, seen.settings[knob.id]);
  }
  for (std::size_t place = 0; place < kLanes.size(); ++place) {
    visit(FieldName{"settings", "weight", kLanes[place].name}, FieldInfo{"sixteenths", "plant", kGauge},
          seen.settings.lane_weights[place]);
  }
  visit(FieldName{"", "ready_batches", ""}, FieldInfo{"batches", "delivery", kGauge}, seen.ready_batches);

  visit_upcoming_numbers(seen.upcoming, visit);

  visit(FieldName{"memory", "used", ""}, FieldInfo{"bytes", "memory ledger", kGauge}, seen.memory_used);
  visit(FieldName{"memory", "limit", ""}, FieldInfo{"bytes", "memory ledger", kGauge}, seen.memory_limit);
  visit(FieldName{"process", "cpu", ""}, FieldInfo{"s", "CPU clock of the process", kGauge}, seen.process_cpu_seconds);
  for (std::size_t place = 0; place < kMachineReadings; ++place) {
    const ReadingInfo& info = machine_info()[place];
    visit(FieldName{"meter", info.name, ""}, FieldInfo{whole_unit(info.unit).unit, info.source, kGauge},
          seen.meters.values[place]);
  }
  for (std::size_t mask = 0; mask < kMeterMasks; ++mask) {
    constexpr std::array<std::string_view, kMeterMasks> kNumbers{"0", "1"};
    visit(FieldName{"meter", "valid", kNumbers[mask]}, FieldInfo{"", "meters", kGauge}, seen.meters.valid[mask]);
  }
  visit(FieldName{"", "finished", ""}, FieldInfo{"", "plant", kGauge}, seen.finished);
  visit(FieldName{"", "turn", ""}, FieldInfo{"", "loaders of the process", kGauge}, seen.turn);
}

/// As many as visit_fields() visits, group by group; a spread is six.
inline constexpr std::size_t kObservationFields = 3 + (4 + 2 * 6) + kLanes.size() * (1 + 4 * 6) + 8 + (5 + 2 * 6) + 5 +
                                                  6 + kKnobs + kLanes.size() + 1 + 6 + 5 + kMachineReadings +
                                                  kMeterMasks;

struct FieldDescription {
  std::string name;
  FieldInfo info;
  bool real = false;  // a double; all others are integers
};

/// In the order of visit_fields(); made once.
const std::vector<FieldDescription>& observation_fields();

/// An observation as words: integers, and doubles by their bits.
using ObservationWords = std::array<std::uint64_t, kObservationFields>;
ObservationWords words_of(const Observation& seen) noexcept;
/// The reverse, for words that words_of() gave; of others, what does not fit a field is cut to its width.
Observation observation_of(const ObservationWords& words) noexcept;

}  // namespace drapps
