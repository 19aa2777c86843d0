#include "drapps/sim/world_json.h"

#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>

namespace drapps::sim {
namespace {

using nlohmann::json;

constexpr double kLongest = 1e6;  // s
constexpr std::size_t kMostSegments = 1000;

std::string text_of(double number) { return json(number).dump(); }

Status check_names(const json& root) {
  std::map<std::string_view, std::set<std::string_view>> known;
  World world;
  visit_world(world, [&](std::string_view group, std::string_view name, double&, double, double) {
    known[group].insert(name);
  });
  for (const auto& [group, values] : root.items()) {
    const auto names = known.find(group);
    if (names == known.end()) return invalid("a world has no " + group);
    if (!values.is_object()) return invalid(group + " of a world must be an object of numbers");
    for (const auto& [name, value] : values.items()) {
      if (!names->second.contains(name)) return invalid(std::string(group).append(" of a world has no ").append(name));
    }
  }
  return ok_status();
}

/// Reads a number where there is one.
Status read(const json& root, const char* name, double low, double high, double& into) {
  const auto value = root.find(name);
  if (value == root.end()) return ok_status();
  if (!value->is_number() || !(low <= value->get<double>() && value->get<double>() <= high)) {
    return invalid(std::string(name) + " of a simulated scenario must be a number from " + text_of(low) + " to " +
                   text_of(high) + ", not " + value->dump());
  }
  into = value->get<double>();
  return ok_status();
}

}  // namespace

json world_to_json(const World& world) {
  json root = json::object();
  visit_world(world, [&](std::string_view group, std::string_view name, const double& value, double, double) {
    root[std::string(group)][std::string(name)] = value;
  });
  return root;
}

Result<World> world_from_json(const json& root) {
  if (!root.is_object()) return invalid("a world must be an object of groups of numbers");
  DRAPPS_RETURN_IF_ERROR(check_names(root));
  World world;
  std::string wrong;
  visit_world(world, [&](std::string_view group, std::string_view name, double& value, double low, double high) {
    const auto values = root.find(group);
    if (values == root.end() || !wrong.empty()) return;
    const auto given = values->find(name);
    if (given == values->end()) return;
    if (!given->is_number() || !(low <= given->get<double>() && given->get<double>() <= high)) {
      wrong.append(group).append(".").append(name).append(" of a world must be a number from ");
      wrong += text_of(low) + " to " + text_of(high) + ", not " + given->dump();
      return;
    }
    value = given->get<double>();
  });
  if (!wrong.empty()) return invalid(wrong);
  return world;
}

Result<Scenario> scenario_from_json(const json& root) {
  if (!root.is_object() || !root.contains("segments") || !root["segments"].is_array() || root["segments"].empty() ||
      root["segments"].size() > kMostSegments) {
    return invalid("a simulated scenario must have from 1 to " + std::to_string(kMostSegments) + " segments");
  }
  Scenario scenario;
  double seed = 1;
  DRAPPS_RETURN_IF_ERROR(read(root, "seconds", 1e-3, kLongest, scenario.seconds));
  DRAPPS_RETURN_IF_ERROR(read(root, "seed", 0, 0x1p53, seed));
  scenario.seed = static_cast<std::uint64_t>(seed);
  for (const json& each : root["segments"]) {
    if (!each.is_object() || !each.contains("world")) return invalid("a segment must be an object with a world");
    Segment segment;
    DRAPPS_RETURN_IF_ERROR(read(each, "begin", 0, kLongest, segment.begin));
    auto world = world_from_json(each["world"]);
    if (!world.ok()) return std::move(world).error();
    segment.world = *world;
    if (each.contains("name") && each["name"].is_string()) segment.name = each["name"].get<std::string>();
    const bool first = scenario.segments.empty();
    if (first ? segment.begin != 0 : segment.begin <= scenario.segments.back().begin) {
      return invalid("the segments of a simulated scenario begin at 0, and each later than the one before");
    }
    scenario.segments.push_back(std::move(segment));
  }
  return scenario;
}

}  // namespace drapps::sim
