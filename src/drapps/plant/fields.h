// What an observation holds, listed once: traces, the schema, the guard and the documentation are made from this list.
//
//   const ObservationWords words = words_of(seen);
//   for (std::size_t i = 0; i < words.size(); ++i) show(observation_fields()[i], words[i]);
//   const Observation same = observation_of(words);
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "drapps/base/number.h"
#include "drapps/plant/plant.h"

namespace drapps {

/// A name in up to three parts, "decode" "service_wall" "p50", which "." joins; empty parts are left out.
struct FieldName {
  std::string_view group;
  std::string_view of;
  std::string_view part;
};

/// What a field is, as the number that it is made of says; `lane` is the place of its lane in kLanes, if it has one.
struct FieldInfo {
  NumberInfo number;
  std::size_t lane = kLanes.size();
};

namespace detail {

inline constexpr std::size_t kSpreadFields = 6;

template <class S, class Visit>
constexpr void visit_spread(S& spread, std::string_view group, const FieldInfo& info, const Visit& visit) {
  FieldInfo counter = info;
  counter.number.kind = NumberKind::kCounter;
  FieldInfo count = counter;
  count.number.unit = "";
  const std::string_view of = info.number.name;
  visit(FieldName{group, of, "count"}, count, spread.count);
  visit(FieldName{group, of, "sum"}, counter, spread.sum);
  visit(FieldName{group, of, "p50"}, info, spread.p50);
  visit(FieldName{group, of, "p90"}, info, spread.p90);
  visit(FieldName{group, of, "p99"}, info, spread.p99);
  visit(FieldName{group, of, "most"}, info, spread.most);
}

/// The numbers of a part of an observation.
template <class Numbers, class Visit>
constexpr void visit_group(std::string_view group, Numbers& numbers, const Visit& visit,
                           std::size_t lane = kLanes.size()) {
  visit_numbers(
      [&]<class Value>(const NumberInfo& info, Value& value) {
        if constexpr (std::is_same_v<std::remove_const_t<Value>, Spread>) {
          visit_spread(value, group, {info, lane}, visit);
        } else {
          visit(FieldName{group, info.name, ""}, FieldInfo{info, lane}, value);
        }
      },
      numbers);
}

/// How many fields visit_group() visits.
template <class Numbers>
consteval std::size_t fields_of() {
  std::size_t fields = 0;
  Numbers numbers;
  visit_numbers(
      [&]<class Value>(const NumberInfo&, Value&) { fields += std::is_same_v<Value, Spread> ? kSpreadFields : 1; },
      numbers);
  return fields;
}

}  // namespace detail

/// Calls visit(FieldName, FieldInfo, value&) for each number of an observation, const or not, in a fixed order. Values
/// are integers, bool, double, Turn. A new group comes here once; a new number of a group does not.
template <class O, class Visit>
constexpr void visit_fields(O& seen, const Visit& visit) {
  constexpr NumberKind kCounter = NumberKind::kCounter;
  constexpr NumberKind kGauge = NumberKind::kGauge;
  const auto one = [&](std::string_view group, const NumberInfo& info, auto&& value) {
    visit(FieldName{group, info.name, ""}, FieldInfo{info}, value);
  };
  one("", {"time", "ns", "monotonic clock", kCounter, "when it was taken"}, seen.time_ns);
  one("", {"batches", "batches", "delivery", kCounter, "delivered"}, seen.batches);
  one("",
      {"samples", "samples", "delivery", kCounter,
       "delivered; of worker processes made, batches that they make as one whole among them"},
      seen.samples);
  detail::visit_group("consumer", seen.consumer, visit);
  for (std::size_t place = 0; place < kLanes.size(); ++place) {
    detail::visit_group(kLanes[place].name, seen.lanes[place], visit, place);
  }
  detail::visit_group("workers", seen.workers, visit);
  detail::visit_group("storage", seen.storage, visit);
  detail::visit_group("device", seen.device, visit);
  detail::visit_group("processes", seen.processes, visit);

  for (const Knob& knob : knob_table()) {
    one("settings", {knob.name, knob.unit, "plant", kGauge, "the knob as it stands"}, seen.settings[knob.id]);
  }
  constexpr NumberInfo kWeight{"weight", "sixteenths", "plant", kGauge, "share of the workers"};
  for (std::size_t place = 0; place < kLanes.size(); ++place) {
    visit(FieldName{"settings", kWeight.name, kLanes[place].name}, FieldInfo{kWeight},
          seen.settings.lane_weights[place]);
  }
  one("", {"ready_batches", "batches", "delivery", kGauge, "finished, and not taken yet"}, seen.ready_batches);

  detail::visit_group("upcoming", seen.upcoming, visit);

  constexpr std::string_view kLedger = "memory ledger";
  one("memory", {"used", "bytes", kLedger, kGauge, "of the RAM budget"}, seen.memory_used);
  one("memory", {"limit", "bytes", kLedger, kGauge, "the RAM budget"}, seen.memory_limit);
  one("process", {"cpu", "s", "CPU clock of the process", kGauge, "CPU time of the whole process"},
      seen.process_cpu_seconds);
  for (std::size_t place = 0; place < kMachineReadings; ++place) {
    const ReadingInfo& info = machine_info()[place];
    one("meter", {info.name, whole_unit(info.unit).unit, info.source, kGauge, ""}, seen.meters.values[place]);
  }
  constexpr std::array<std::string_view, kMeterMasks> kMaskNumbers{"0", "1"};
  constexpr std::array<std::string_view, kMeterMasks> kMaskMeanings{
      "bit *i*: the number *i* of those above from `meter.cpu.use_mean` on is there",
      "bit *i*: the number 64 + *i* of those above from `meter.cpu.use_mean` on is there"};
  for (std::size_t mask = 0; mask < kMeterMasks; ++mask) {
    visit(FieldName{"meter", "valid", kMaskNumbers[mask]},
          FieldInfo{{"valid", "", "meters", kGauge, kMaskMeanings[mask]}}, seen.meters.valid[mask]);
  }
  one("", {"finished", "", "plant", kGauge, "1: no pass is under way"}, seen.finished);
  one("",
      {"turn", "", "loaders of the process", kGauge,
       "of trials, which one loader makes at a time. 0: one may begin; 1: one that has begun goes on; 2: another "
       "loader's is under way"},
      seen.turn);
}

/// How many fields visit_fields() visits, summed in its order.
inline constexpr std::size_t kObservationFields =
    3 + detail::fields_of<ConsumerObservation>() + kLanes.size() * detail::fields_of<LaneObservation>() +
    detail::fields_of<WorkerObservation>() + detail::fields_of<StorageObservation>() +
    detail::fields_of<DeviceObservation>() + detail::fields_of<ProcessObservation>() + kKnobs + kLanes.size() + 1 +
    detail::fields_of<Upcoming>() + 3 + kMachineReadings + kMeterMasks + 2;

struct FieldDescription {
  std::string name;
  FieldInfo info;
  bool real = false;  // a double; all others are integers
};

/// What describes each field, in the order of visit_fields(); made once.
const std::vector<FieldDescription>& observation_fields();

/// An observation as words: integers, and doubles by their bits.
using ObservationWords = std::array<std::uint64_t, kObservationFields>;
ObservationWords words_of(const Observation& seen) noexcept;
/// The observation of which words_of() gave these words; of other words, what does not fit a field is cut to its width.
Observation observation_of(const ObservationWords& words) noexcept;

}  // namespace drapps
