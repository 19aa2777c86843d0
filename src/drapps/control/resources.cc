#include "drapps/control/resources.h"

#include <nlohmann/json.hpp>
#include <ranges>
#include <string>
#include <utility>

#include "drapps/plant/schema.h"

namespace drapps {
namespace {

using nlohmann::json;

/// How an option stands in JSON. Some are said in two members, so that both are at hand.
struct Option {
  std::string_view name;
  Status (*read)(const json& value, const json& all, Resources& into);  // a value that is not null
  json (*write)(const Resources& resources);                            // null where it is left out
};

/// Puts a result's value into a field, or gives its error.
template <class T, class U>
Status put(Result<T> value, U& into) {
  if (!value.ok()) return std::move(value).error();
  into = *std::move(value);
  return ok_status();
}

json member(const json& all, const char* name) { return all.value(name, json()); }

Result<std::size_t> bytes_of(std::string_view name, const json& value) {
  if (value.is_number_unsigned() && value.get<std::uint64_t>() > 0) return value.get<std::size_t>();
  return invalid(std::string(name) + " must be a number of bytes > 0");
}

template <class T>
json optional_json(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

Status read_cpu_budget(const json& value, const json&, Resources& into) {
  const double cores = value.is_number() ? value.get<double>() : 0;
  DRAPPS_RETURN_IF_ERROR(check_cores(cores));
  into.budget.cpus = cores;
  return ok_status();
}

Status read_weights(const json& value, const json&, Resources& into) {
  if (value != "share" && value != "cap") return invalid("weights=" + value.dump() + R"( must be "share" or "cap")");
  into.weights = value == "cap" ? WeightUse::kCap : WeightUse::kShare;
  return ok_status();
}

Status read_cache(const json&, const json& all, Resources& into) {
  return put(cache_options(member(all, "cache"), member(all, "form")), into.cache);
}

Status read_device(const json& value, const json&, Resources&) {
  if (!value.is_string()) return invalid("device=" + value.dump() + " must be a name such as \"cuda:0\"");
  return ok_status();
}

Status read_device_memory(const json& value, const json& all, Resources& into) {
  auto bytes = bytes_of("device_memory", value);
  if (!bytes.ok()) return std::move(bytes).error();
  const json device = member(all, "device");
  if (!device.is_string()) return invalid("device_memory is of no device: name it");
  into.device = DeviceChoice{device.get<std::string>(), *bytes};
  return ok_status();
}

json write_device(const Resources& from) {
  if (from.device) return from.device->device;
  return from.placement.device.empty() ? json() : json(from.placement.device);
}

const Option kOptions[] = {
    {"policy",
     [](const json& value, const json&, Resources& into) { return put(policy_config_from_json(value), into.policy); },
     [](const Resources& from) { return policy_config_to_json(from.policy); }},
    {"cpu_budget", read_cpu_budget, [](const Resources& from) { return optional_json(from.budget.cpus); }},
    {"ram_budget",
     [](const json& value, const json&, Resources& into) {
       return put(bytes_of("ram_budget", value), into.budget.bytes);
     },
     [](const Resources& from) { return optional_json(from.budget.bytes); }},
    {"settings",
     [](const json& value, const json&, Resources& into) {
       return put(thread_settings_from_json(value), into.settings);
     },
     [](const Resources& from) { return from.settings ? settings_to_json(*from.settings, from.knobs()) : json(); }},
    {"weights", read_weights, [](const Resources& from) { return json(name_of(from.weights)); }},
    {"cache", read_cache, [](const Resources& from) { return cache_to_json(from.cache); }},
    {"form", read_cache, [](const Resources& from) { return form_to_json(from.cache); }},
    {"device", read_device, write_device},
    {"device_memory", read_device_memory,
     [](const Resources& from) { return from.device ? json(from.device->memory_bytes) : json(); }},
    {"placement",
     [](const json& value, const json& all, Resources& into) {
       return put(placement_from_json(value, member(all, "device")), into.placement);
     },
     [](const Resources& from) { return json(name_of(from.placement.mode)); }},
};

}  // namespace

KnobSet Resources::knobs() const noexcept {
  return placement.mode == PlacementMode::kCpu ? kThreadKnobs : kPlacedKnobs;
}

Result<Resources> parse_resources(std::string_view text) {
  const json root = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object()) return invalid("the options are not a JSON object");
  Resources resources;
  for (const auto& [key, value] : root.items()) {
    const auto option = std::ranges::find(kOptions, key, &Option::name);
    if (option == std::end(kOptions)) return invalid("there is no option named \"" + key + "\"");
    if (!value.is_null()) DRAPPS_RETURN_IF_ERROR(option->read(value, root, resources));
  }
  return resources;
}

json resources_to_json(const Resources& resources) {
  json root = json::object();
  for (const Option& option : kOptions) {
    if (json value = option.write(resources); !value.is_null()) root[option.name] = std::move(value);
  }
  return root;
}

std::vector<std::string_view> resource_names() {
  std::vector<std::string_view> names;
  for (const Option& option : kOptions) names.push_back(option.name);
  return names;
}

std::string_view name_of(WeightUse weights) noexcept { return weights == WeightUse::kCap ? "cap" : "share"; }

json limits_json(const Engine& engine) {
  const MachineLimits machine = engine.machine();
  return {{"budget", {{"cpus", engine.cpu_budget()}, {"ram_bytes", engine.ram_budget()}}},
          {"machine",
           {{"cpus", machine.cpus}, {"memory_bytes", machine.memory_bytes}, {"local_ranks", machine.local_ranks}}},
          {"shortages", engine.shortages()}};
}

}  // namespace drapps
