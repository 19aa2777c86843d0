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

/// A name in up to three parts, "lanes.decode" "service_wall" "p50", which "." joins; empty parts are left out.
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

/// Calls visit(FieldName, FieldInfo, value&) for each number of an observation, const or not, in a fixed order. Values
/// are integers, bool, double, Turn.
template <class O, class Visit>
constexpr void visit_fields(O& seen, const Visit& visit) {
  constexpr FieldKind counter = FieldKind::kCounter;
  constexpr FieldKind gauge = FieldKind::kGauge;
  visit(FieldName{"", "time", ""}, FieldInfo{"ns", "monotonic clock", counter}, seen.time_ns);
  visit(FieldName{"", "batches", ""}, FieldInfo{"batches", "delivery", counter}, seen.batches);
  visit(FieldName{"", "samples", ""}, FieldInfo{"samples", "delivery", counter}, seen.samples);

  auto& consumer = seen.consumer;
  constexpr std::string_view outermost = "outermost iterator";
  visit(FieldName{"consumer", "passes", ""}, FieldInfo{"passes", outermost, counter}, consumer.passes);
  detail::visit_spread(consumer.step, "consumer", "step", {"ns", outermost}, visit);
  detail::visit_spread(consumer.stall, "consumer", "stall", {"ns", outermost}, visit);
  visit(FieldName{"consumer", "helped", ""}, FieldInfo{"ns", outermost, counter}, consumer.helped_ns);
  visit(FieldName{"consumer", "between", ""}, FieldInfo{"ns", outermost, counter}, consumer.between_ns);

  for (std::size_t place = 0; place < kLanes.size(); ++place) {
    auto& lane = seen.lanes[place];
    const std::string_view name = kLanes[place].name;
    visit(FieldName{"lanes", name, "valid"}, FieldInfo{"", "plan", gauge, place}, lane.valid);
    detail::visit_spread(lane.service_wall, name, "service_wall", {"ns", "workers", gauge, place}, visit);
    detail::visit_spread(lane.service_cpu, name, "service_cpu", {"ns", "workers' CPU clocks", gauge, place}, visit);
    detail::visit_spread(lane.queue_length, name, "queue_length", {"samples", "queues", gauge, place}, visit);
    detail::visit_spread(lane.wait, name, "wait", {"ns", "queues", gauge, place}, visit);
  }

  auto& workers = seen.workers;
  constexpr std::string_view accounts = "accounts of the workers";
  visit(FieldName{"workers", "count", ""}, FieldInfo{"workers", accounts, gauge}, workers.workers);
  visit(FieldName{"workers", "wall", ""}, FieldInfo{"ns", accounts, counter}, workers.wall_ns);
  visit(FieldName{"workers", "idle", ""}, FieldInfo{"ns", accounts, counter}, workers.idle_ns);
  visit(FieldName{"workers", "window", ""}, FieldInfo{"ns", accounts, counter}, workers.window_ns);
  visit(FieldName{"workers", "memory", ""}, FieldInfo{"ns", accounts, counter}, workers.memory_ns);
  visit(FieldName{"workers", "storage", ""}, FieldInfo{"ns", accounts, counter}, workers.storage_ns);
  visit(FieldName{"workers", "paused", ""}, FieldInfo{"ns", accounts, counter}, workers.paused_ns);
  visit(FieldName{"workers", "other", ""}, FieldInfo{"ns", accounts, counter}, workers.other_ns);

  auto& storage = seen.storage;
  constexpr std::string_view meter = "storage meter";
  visit(FieldName{"storage", "bytes", ""}, FieldInfo{"bytes", meter, counter}, storage.bytes);
  visit(FieldName{"storage", "failures", ""}, FieldInfo{"reads", meter, counter}, storage.failures);
  visit(FieldName{"storage", "refusals", ""}, FieldInfo{"reads", meter, counter}, storage.refusals);
  visit(FieldName{"storage", "retries", ""}, FieldInfo{"reads", meter, counter}, storage.retries);
  visit(FieldName{"storage", "in_flight", ""}, FieldInfo{"reads", meter, gauge}, storage.in_flight);
  detail::visit_spread(storage.at_once, "storage", "at_once", {"ns", meter}, visit);
  detail::visit_spread(storage.waited, "storage", "waited", {"ns", meter}, visit);

  auto& processes = seen.processes;
  constexpr std::string_view board = "board of the worker processes";
  visit(FieldName{"processes", "starting", ""}, FieldInfo{"processes", board, gauge}, processes.starting);
  visit(FieldName{"processes", "leaving", ""}, FieldInfo{"processes", board, gauge}, processes.leaving);
  visit(FieldName{"processes", "made", ""}, FieldInfo{"samples and batches", board, counter}, processes.made);
  visit(FieldName{"processes", "demand", ""}, FieldInfo{"ns", "CPU clocks of the processes", counter},
        processes.demand_ns);
  visit(FieldName{"processes", "idle_cores", ""}, FieldInfo{"ns", "/proc/stat", counter}, processes.idle_cores_ns);
  visit(FieldName{"processes", "idle", ""}, FieldInfo{"times", "consumer", counter}, processes.idle);

  for (const Knob& knob : knob_table()) {
    visit(FieldName{"settings", knob.name, ""}, FieldInfo{knob.unit, "plant", gauge}, seen.settings[knob.id]);
  }
  for (std::size_t place = 0; place < kLanes.size(); ++place) {
    visit(FieldName{"settings", "weight", kLanes[place].name}, FieldInfo{"sixteenths", "plant", gauge},
          seen.settings.lane_weights[place]);
  }
  visit(FieldName{"", "ready_batches", ""}, FieldInfo{"batches", "delivery", gauge}, seen.ready_batches);

  auto& upcoming = seen.upcoming;
  constexpr std::string_view order = "order and source";
  visit(FieldName{"upcoming", "samples", ""}, FieldInfo{"samples", order, gauge}, upcoming.samples);
  visit(FieldName{"upcoming", "sized", ""}, FieldInfo{"samples", order, gauge}, upcoming.sized);
  visit(FieldName{"upcoming", "bytes", ""}, FieldInfo{"bytes", order, gauge}, upcoming.bytes);
  visit(FieldName{"upcoming", "seen", ""}, FieldInfo{"samples", order, gauge}, upcoming.seen);
  visit(FieldName{"upcoming", "pixels", ""}, FieldInfo{"pixels", order, gauge}, upcoming.pixels);
  visit(FieldName{"upcoming", "indexed", ""}, FieldInfo{"samples", order, gauge}, upcoming.indexed);

  visit(FieldName{"memory", "used", ""}, FieldInfo{"bytes", "memory ledger", gauge}, seen.memory_used);
  visit(FieldName{"memory", "limit", ""}, FieldInfo{"bytes", "memory ledger", gauge}, seen.memory_limit);
  visit(FieldName{"process", "cpu", ""}, FieldInfo{"s", "CPU clock of the process", gauge}, seen.process_cpu_seconds);
  visit(FieldName{"", "finished", ""}, FieldInfo{"", "plant", gauge}, seen.finished);
  visit(FieldName{"", "turn", ""}, FieldInfo{"", "loaders of the process", gauge}, seen.turn);
}

/// As many as visit_fields() visits, group by group; a spread is six.
inline constexpr std::size_t kObservationFields =
    3 + (3 + 2 * 6) + kLanes.size() * (1 + 4 * 6) + 8 + (5 + 2 * 6) + 6 + kKnobs + kLanes.size() + 1 + 6 + 5;

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
