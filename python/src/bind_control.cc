// The control plane of worker processes: drapps._core.{ProcessControl, policy_names, …}.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <nlohmann/json.hpp>
#include <string>

#include "board_side.h"
#include "control_side.h"
#include "drapps/control/loader.h"
#include "drapps/control/process_control.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/registry.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;

std::string settings_of_processes(std::int32_t processes) {
  Settings settings;
  settings[KnobId::kProcesses] = processes;
  return settings_to_json(settings, kProcessKnobs).dump();
}

std::int32_t processes_of_settings(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  return value_of(settings_from_json(json, kProcessKnobs))[KnobId::kProcesses];
}

/// Settings of native loaders, or of worker processes.
void check_settings(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto knobs = json.is_object() ? json.value("knobs", nlohmann::json()) : nlohmann::json();
  const bool processes =
      knobs.is_object() && knobs.contains(knob_table()[static_cast<std::size_t>(KnobId::kProcesses)].name);
  static_cast<void>(value_of(processes ? settings_from_json(json, kProcessKnobs) : thread_settings_from_json(json)));
}

nb::list policy_parameters_of(const std::string& name) {
  nb::list list;
  for (const PolicyParameter& each : value_of(policy_parameters(name))) {
    list.append(
        nb::make_tuple(nb::str(each.name.data(), each.name.size()), each.fallback, each.low, each.high, each.whole));
  }
  return list;
}

ScalingMode scaling_of(bool migrates, bool fixed) {
  if (fixed) return ScalingMode::kFixed;
  return migrates ? ScalingMode::kMigrating : ScalingMode::kFree;
}

}  // namespace

void bind_control(nb::module_& module) {
  module.def("policy_names", &policy_names, "The policies that a loader may be made with.");
  module.def("policy_parameters", &policy_parameters_of, "policy"_a,
             "What a policy of this name declares: name, what it is where nothing is said, least, most, and whether it "
             "is whole. Raises ValueError for an unknown one.");
  module.def("schema", [] { return schema_hex(schema_hash()); }, "The knobs and lanes that weights are for.");
  module.def(
      "check_policy", [](const std::string& text) { value_of(make_policy(policy_of(text))); }, "policy"_a,
      "Raises ValueError where a policy in JSON (policy/config.h) cannot be made.");
  module.def(
      "check_resources", [](const std::string& text) { static_cast<void>(value_of(parse_resources(text))); },
      "resources"_a, "Raises ValueError where no loader runs with these, in JSON (control/resources.h).");
  module.def("resource_names", &resource_names, "The names of all options of resources.");
  module.def("check_settings", &check_settings, "settings"_a,
             "Raises ValueError for what no loader has exported, in JSON.");
  module.def("settings_of_processes", &settings_of_processes, "processes"_a,
             "What a loader exports that runs Python code in so many processes, in JSON.");
  module.def("processes_of_settings", &processes_of_settings, "settings"_a,
             "The reverse of settings_of_processes(). Raises ValueError.");
  module.def(
      "limits", [] { return limits_json(Engine::get()).dump(); },
      "Budgets in force and what the machine gives, as they stand in a plan; in JSON.");
  using Self = ProcessControl;
  nb::class_<Self> bound(module, "ProcessControl",
                         "Decides how many worker processes a loader has, as long as it lives.");
  bind_control_of(bound);
  bound
      .def(nb::new_([](const std::string& policy) { return value_of(ProcessControl::make(policy_of(policy))); }),
           "policy"_a, "policy: in JSON, see policy/config.h.")
      .def(
          "attach", [](Self& self, const Side& side, std::int32_t n) { self.attach(parent_board(side), n); }, "board"_a,
          "processes"_a, "The processes of this board are decided about, of which so many are about to start.")
      .def(
          "detach", [](Self& self, const Side& side) { self.detach(*parent_board(side)); }, "board"_a)
      .def(
          "set_scaling",
          [](Self& self, bool fixed, bool migrates, std::int32_t most) {
            self.plant().set_scaling(scaling_of(migrates, fixed), most);
          },
          nb::kw_only(), "fixed"_a, "migrates"_a, "most"_a,
          "Whether their number is fixed, or changes by migrations of virtual workers; and how many there may be.")
      .def(
          "joined", [](Self& self, std::uint32_t number, std::int32_t pid) { self.plant().joined(number, pid); },
          "number"_a, "pid"_a)
      .def(
          "retired", [](Self& self, std::uint32_t number) { self.plant().retired(number); }, "number"_a)
      .def(
          "left", [](Self& self, std::uint32_t number) { self.plant().left(number); }, "number"_a)
      .def(
          "set_batch", [](Self& self, std::uint64_t samples) { self.plant().set_batch(samples); }, "samples"_a,
          "Batches have so many samples from here on; 0: that is not known.")
      .def(
          "asks", [](Self& self) { self.plant().asks(); }, "The consumer asks for a batch.")
      .def(
          "waits", [](Self& self) { self.plant().waits(); }, "It waits for processes, until waited().")
      .def("waited", [](Self& self) { self.plant().waited(); })
      .def(
          "gives", [](Self& self) { self.plant().gives(); }, "It is given the batch, or the error in its place.")
      .def(
          "ends", [](Self& self) { self.plant().ends(); }, "There is no batch any more.")
      .def(
          "idle", [](Self& self) { self.plant().idle(); }, "The processes have had nothing to do.")
      .def("begin_pass", &Self::begin_pass, "epoch"_a)
      .def_prop_ro(
          "processes", [](Self& self) { return self.plant().processes(); },
          "How many processes are wanted; 0: none was started.")
      .def(
          "want", [](Self& self, std::int32_t n) { self.plant().want(n); }, "processes"_a,
          "Sets it: to what is begun with, or to what could be started.")
      .def(
          "take_retired", [](Self& self) { return self.plant().take_retired(); },
          "Numbers of processes that were retired by a decision since the last call.")
      .def("remark", &Self::remark, "why"_a, "more"_a, "Something that moved no knob, with further fields in JSON.")
      .def(
          "stats", [](Self& self) { return self.stats().dump(); },
          "All that was counted, in JSON; see control/plant_stats.h.")
      .def(
          "record",
          [](Self& self, const nb::bytes& path, const std::string& about) {
            record_into(path, [&](const std::string& name) { return self.control().record(name, about); });
          },
          "path"_a, "about"_a, "about: JSON. Raises OSError, or ValueError where there is such a file or a recording.")
      .def("log", [](Self& self) { return self.control().log().dump(); }, "The decision log, in JSON.");
}

}  // namespace drapps
