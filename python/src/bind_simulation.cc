// Simulated runs: drapps._core.{simulate, knob_values, world_fields}.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "drapps/control/simulation.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/initial.h"
#include "drapps/policy/registry.h"
#include "drapps/sim/world_json.h"
#include "shared.h"

namespace nb = nanobind;

namespace drapps {
namespace {

using nb::literals::operator""_a;
using nlohmann::json;

json parsed(const std::string& text) { return json::parse(text, nullptr, /*allow_exceptions=*/false); }

/// Knobs by name; those that the plant has not are left out.
json knobs_of(const Settings& settings, const Limits& limits) {
  json knobs = json::object();
  for (const Knob& knob : knob_table()) {
    if (limits[knob.id] != Bounds{}) knobs[std::string(knob.name)] = settings[knob.id];
  }
  return knobs;
}

json row_of(const sim::SegmentResult& row, const sim::World& world) {
  const sim::Totals& totals = row.totals;
  const double seconds = totals.seconds > 0 ? totals.seconds : 1;
  const double batches = totals.samples / world.workload.batch;
  json facts{{"name", row.name},
             {"begin", row.begin},
             {"seconds", totals.seconds},
             {"samples", totals.samples},
             {"rate", totals.samples / seconds},
             {"stall", totals.steps > 0 ? totals.stall / totals.steps : 0},
             {"load_mean", row.load_mean},
             {"load_p95", row.load_p95},
             {"cores", totals.core / seconds},
             {"memory", totals.memory},
             {"moves", row.moves},
             {"knobs", knobs_of(row.settings, sim::limits_of(world))}};
  if (world.machine.gpu.count > 0) facts["gpu_idle"] = totals.gpu_idle / seconds;
  if (totals.joules > 0) facts["joules_per_batch"] = batches > 0 ? totals.joules / batches : 0;
  if (world.machine.remote.most > 0) facts["cost"] = totals.cost;
  return facts;
}

/// Settings that a run begins with: the default's, but for the knobs that are given.
/// @param fits  whether values outside the limits are brought within them, not refused.
Settings start_of(const sim::World& world, const json& given, bool fits = false) {
  const Limits limits = sim::limits_of(world);
  Settings settings =
      initial_settings(limits, static_cast<std::size_t>(world.workload.batch * world.workload.row_bytes));
  for (const auto& [name, value] : given.items()) {
    const auto& table = knob_table();
    const auto* const knob = std::ranges::find(table, name, &Knob::name);
    if (knob == table.end()) throw nb::value_error(("there is no knob " + name).c_str());
    if (limits[knob->id] == Bounds{}) throw nb::value_error(("this plant has no knob " + name).c_str());
    if (!value.is_number_integer() || (!fits && !KnobRange(*knob, limits).contains(value.get<std::int32_t>()))) {
      throw nb::value_error((name + " must be a whole number from " + std::to_string(limits[knob->id].low) + " to " +
                             std::to_string(limits[knob->id].high))
                                .c_str());
    }
    settings[knob->id] = value.get<std::int32_t>();
  }
  return fits ? fit_settings(settings, limits) : settings;
}

/// The settings of each segment, where knobs are given for each segment; else none.
std::vector<Settings> held_of(const sim::Scenario& scenario, const json& given) {
  std::vector<Settings> held;
  if (!given.is_array()) return held;
  if (given.size() != scenario.segments.size()) throw nb::value_error("knobs must be given for every segment, or once");
  for (std::size_t i = 0; i < given.size(); ++i) held.push_back(start_of(scenario.segments[i].world, given[i], true));
  return held;
}

/// The knobs between whose values there is a choice, with every value that each may take.
std::string knob_values(const std::string& world_text) {
  const Limits limits = sim::limits_of(value_of(sim::world_from_json(parsed(world_text))));
  json knobs = json::object();
  for (const Knob& knob : knob_table()) {
    const KnobRange range(knob, limits);
    if (limits[knob.id] == Bounds{} || range.low() == range.high()) continue;
    json values = json::array({range.low()});
    for (std::int32_t value = range.low(); value != range.high();) values.push_back(value = range.up(value));
    knobs[std::string(knob.name)] = std::move(values);
  }
  return knobs.dump();
}

json features_of(const Features& values) {
  const std::vector<FeatureDescription>& descriptions = feature_descriptions();
  json features = json::object();
  for (std::size_t i = 0; i < values.size(); ++i) features[descriptions[i].name] = values[i];
  return features;
}

std::string simulate(const std::string& scenario_text, const std::string& policy_text, const std::string& knobs_text,
                     bool with_features, const std::optional<nb::bytes>& trace_path) {
  const sim::Scenario scenario = value_of(sim::scenario_from_json(parsed(scenario_text)));
  sim::RunOptions options;
  std::unique_ptr<Policy> policy;
  if (!policy_text.empty()) {
    options.config = value_of(policy_config_from_json(parsed(policy_text)));
    policy = value_of(make_policy(options.config));
  }
  const json knobs = parsed(knobs_text);
  const std::vector<Settings> held = held_of(scenario, knobs);
  if (policy != nullptr && !held.empty()) throw nb::value_error("a policy begins with one setting of each knob");
  const Settings start = held.empty() ? start_of(scenario.segments.front().world, knobs) : held.front();
  if (trace_path && policy != nullptr) {
    auto opened = trace::TraceWriter::open(std::string(trace_path->c_str(), trace_path->size()),
                                           json{{"scenario", parsed(scenario_text)}}.dump());
    if (!opened.ok()) raise_for_file(opened.error());
    options.writer = *std::move(opened);
  }
  sim::RunResult result;
  {
    const WithoutGil free;
    result = sim::run(scenario, std::move(policy), start, held, options);
  }
  if (!result.recorded.ok()) raise_for_file(result.recorded.error());
  json rows = json::array();
  for (std::size_t i = 0; i < result.segments.size(); ++i) {
    rows.push_back(row_of(result.segments[i], scenario.segments[i].world));
    if (with_features && policy_text.empty()) rows.back()["features"] = features_of(result.segments[i].features);
  }
  json answer{{"segments", std::move(rows)}, {"decisions", result.decisions}};
  if (!result.learning.is_null()) answer["learning"] = std::move(result.learning);
  return answer.dump();
}

nb::list world_fields() {
  nb::list list;
  const sim::World world;
  sim::visit_world(
      world, [&](std::string_view group, std::string_view name, const double& value, double low, double high) {
        list.append(
            nb::make_tuple(nb::str(group.data(), group.size()), nb::str(name.data(), name.size()), value, low, high));
      });
  return list;
}

}  // namespace

void bind_simulation(nb::module_& module) {
  module.def(
      "simulate", &simulate, "scenario"_a, "policy"_a, "knobs"_a, "features"_a = false, "trace"_a = nb::none(),
      "Runs a scenario in JSON (sim/world_json.h) on a simulated plant, and gives its segments in JSON. The "
      "policy is in JSON (policy/config.h), or empty for settings that stay; knobs are those to begin with that "
      "are other than the default's, by name, in JSON, or a list of such objects, one for each segment: held "
      "without a policy, as far as limits allow. A policy with \"learn\" goes on learning, and \"learning\" says how. "
      "With features, and without a policy, a segment has what a "
      "learned policy would see of it (plant/features.h). A policy's decisions are recorded in a new file, where "
      "trace is one. Raises ValueError, or OSError where that file takes nothing.");
  module.def("knob_values", &knob_values, "world"_a,
             "Knobs of a simulated world, in JSON, between whose values there is a choice: every value, by name.");
  module.def("world_fields", &world_fields,
             "Every number of a simulated world: group, name, what it is where nothing is said, least, most.");
}

}  // namespace drapps
