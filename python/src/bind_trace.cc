// Traces of runs: drapps._core.{Trace, replay_trace}.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>

#include <bit>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "drapps/plant/fields.h"
#include "drapps/trace/replay.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using TraceReader = trace::TraceReader;

nb::str text_of(const std::string& bytes) {
  return nb::steal<nb::str>(
      PyUnicode_DecodeUTF8(bytes.data(), static_cast<Py_ssize_t>(bytes.size()), "backslashreplace"));
}

nb::list list_of(const std::vector<std::int32_t>& values) {
  nb::list list;
  for (const std::int32_t value : values) list.append(value);
  return list;
}

/// Entries of a trace as (kind, dictionary), by the lists of its header.
class EntriesInPython {
 public:
  explicit EntriesInPython(const trace::TraceHeader& header) : header_(header) {}

  nb::tuple operator()(const trace::Began& read) const {
    nb::dict entry = timed(read.time_ns);
    entry["policy"] = text_of(read.policy);
    entry["config"] = text_of(read.config);
    entry["frozen"] = read.frozen;
    entry["stopped"] = read.stopped;
    add(read.limits, entry);
    return nb::make_tuple("began", entry);
  }
  nb::tuple operator()(const trace::LimitsChanged& read) const {
    nb::dict entry;
    add(read.limits, entry);
    return nb::make_tuple("limits", entry);
  }
  nb::tuple operator()(const trace::Swapped& read) const {
    nb::dict entry = timed(read.time_ns);
    entry["policy"] = text_of(read.policy);
    entry["config"] = text_of(read.config);
    return nb::make_tuple("swapped", entry);
  }
  nb::tuple operator()(const trace::Renewed& read) const {
    nb::dict entry = timed(read.time_ns);
    entry["hash"] = text_of(read.hash);
    return nb::make_tuple("renewed", entry);
  }
  nb::tuple operator()(const trace::Frozen& read) const {
    nb::dict entry = timed(read.time_ns);
    entry["frozen"] = read.frozen;
    return nb::make_tuple("frozen", entry);
  }
  nb::tuple operator()(const trace::PassBegan& read) const {
    nb::dict entry = timed(read.time_ns);
    entry["epoch"] = read.epoch;
    return nb::make_tuple("pass", entry);
  }
  nb::tuple operator()(const trace::Stopped& read) const {
    nb::dict entry = timed(read.time_ns);
    entry["why"] = text_of(read.why);
    return nb::make_tuple("stopped", entry);
  }
  nb::tuple operator()(const trace::Ended& read) const {
    nb::dict entry = timed(read.time_ns);
    entry["decisions"] = read.decisions;
    return nb::make_tuple("ended", entry);
  }
  nb::tuple operator()(const trace::DecisionRead& read) const {
    nb::dict entry;
    nb::list values;
    for (std::size_t i = 0; i < read.words.size(); ++i) {
      header_.fields[i].real ? values.append(std::bit_cast<double>(read.words[i])) : values.append(integer(read, i));
    }
    entry["values"] = values;
    entry["guard_ns"] = read.guard_ns;
    entry["proposed"] = list_of(read.proposed);
    entry["applied"] = list_of(read.applied);
    nb::list holds;
    for (const std::uint8_t hold : read.holds) holds.append(text_of(header_.holds[hold]));
    entry["holds"] = holds;
    entry["why"] = text_of(read.why);
    entry["fault"] = text_of(read.fault);
    entry["samples_seen"] = read.samples_seen;
    nb::list samples;
    for (const trace::SampleRead& sample : read.samples) samples.append(dict_of(sample));
    entry["samples"] = samples;
    return nb::make_tuple("decision", entry);
  }

 private:
  static nb::dict timed(std::uint64_t time_ns) {
    nb::dict entry;
    entry["time_ns"] = time_ns;
    return entry;
  }
  /// Counts fill a word at most in a century; what fills it is negative.
  static nb::object integer(const trace::DecisionRead& read, std::size_t i) {
    return nb::cast(static_cast<std::int64_t>(read.words[i]));
  }
  nb::dict dict_of(const trace::SampleRead& sample) const {
    nb::dict entry;
    entry["index"] = sample.index;
    entry["position"] = sample.position;
    entry["bytes"] = sample.bytes;
    constexpr const char* kKnown[] = {"unknown", "partial", "complete"};
    entry["known"] = kKnown[static_cast<std::size_t>(sample.known)];
    entry["cpu_ns"] = sample.cpu_ns;
    nb::dict wall;
    for (const auto& [lane, ns] : sample.wall_ns) wall[text_of(header_.lanes[lane])] = ns;
    entry["wall_ns"] = wall;
    return entry;
  }
  void add(const trace::LimitsRead& limits, nb::dict& entry) const {
    nb::dict knobs;
    for (std::size_t i = 0; i < limits.knobs.size(); ++i) {
      knobs[text_of(header_.knobs[i])] = nb::make_tuple(limits.knobs[i].low, limits.knobs[i].high);
    }
    entry["limits"] = knobs;
    nb::list weighted;
    for (std::size_t lane = 0; lane < header_.lanes.size(); ++lane) {
      if ((limits.weighted >> lane & 1) != 0) weighted.append(text_of(header_.lanes[lane]));
    }
    entry["weighted"] = weighted;
    entry["cpus"] = limits.cpus;
  }

  const trace::TraceHeader& header_;
};

/// The value, or OSError where a file cannot be read, ValueError where it is no trace that can.
template <class T>
T read_value(Result<T> result) {
  if (result.ok()) return std::move(result).value();
  raise_for_file(result.error());
}

std::unique_ptr<TraceReader> open_trace(const nb::bytes& path) { return read_value(TraceReader::open(path.c_str())); }

std::optional<nb::tuple> next_entry(TraceReader& reader) {
  auto entry = read_value(reader.next());
  if (!entry) return std::nullopt;
  return std::visit(EntriesInPython(reader.header()), *entry);
}

nb::dict replay_trace(const nb::bytes& path) {
  const auto reader = open_trace(path);
  auto replayed = [&] {
    const WithoutGil released;
    return trace::replay(*reader, std::filesystem::path(path.c_str()).parent_path().string());
  }();
  const trace::Replay done = read_value(std::move(replayed));
  nb::dict report;
  report["decisions"] = done.decisions;
  report["equal"] = done.equal;
  report["first_difference"] = text_of(done.first_difference);
  report["note"] = text_of(reader->note());
  return report;
}

nb::list observation_numbers() {
  nb::list numbers;
  for (const FieldDescription& field : observation_fields()) {
    const NumberInfo& info = field.info.number;
    const bool is_counter = info.kind == NumberKind::kCounter;
    numbers.append(nb::make_tuple(field.name, std::string(info.unit), std::string(info.source),
                                  is_counter ? "counter" : "gauge", std::string(info.meaning)));
  }
  return numbers;
}

}  // namespace

void bind_trace(nb::module_& module) {
  nb::class_<TraceReader>(module, "Trace", "Reads what loader.record() wrote, entry by entry.")
      .def(nb::new_(&open_trace), "path"_a, "path: bytes. Raises OSError, or ValueError where it is no trace.")
      .def_prop_ro(
          "header", [](const TraceReader& self) { return trace::header_to_json(self.header()).dump(); },
          "Fields, knobs, lanes and the time of the beginning, in JSON.")
      .def_prop_ro(
          "about", [](const TraceReader& self) { return text_of(self.about()); }, "Who recorded, in JSON.")
      .def_prop_ro(
          "note", [](const TraceReader& self) { return text_of(self.note()); }, "At the end: how it came to that.")
      .def("next", &next_entry, "(kind, dictionary), or None at the end. Raises as the constructor.");
  module.def("replay_trace", &replay_trace, "path"_a,
             "Decides again: decisions, equal, first_difference, note. Raises as Trace.");
  module.def(
      "observation_numbers", &observation_numbers,
      "The numbers of an observation: for each its name, unit, who counts it, counter or gauge, and what it is.");
}

}  // namespace drapps
