// What a loader runs with, none of which changes what it yields: in words, so that any process can make the same of it.
//
//   auto resources = parse_resources(R"({"policy": "hill_climb", "cpu_budget": 2, "cache": "off"})");
//   std::string text = resources_to_json(*resources).dump();
//
// An option is a field here and an entry of the table in resources.cc, which says how it is read and written.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "drapps/base/knob.h"
#include "drapps/base/result.h"
#include "drapps/control/loader_cache.h"
#include "drapps/control/loader_device.h"
#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/residence.h"
#include "drapps/pipeline/runner.h"
#include "drapps/policy/config.h"

namespace drapps {

struct Resources {
  PolicyConfig policy;
  Budget budget;
  std::optional<Settings> settings;  // to start with; the policy's own where absent
  WeightUse weights = WeightUse::kShare;
  CacheOptions cache;
  std::optional<DeviceChoice> device;  // where arrays are to live
  PlacementChoice placement;           // where samples are decoded

  /// The knobs of a loader that runs with these resources.
  KnobSet knobs() const noexcept;
};

/// Reads a JSON object whose members may be absent, or null as if they were. kInvalidArgument names the one that makes
/// no sense.
Result<Resources> parse_resources(std::string_view json);

/// The reverse of parse_resources(): what is as if it was not given is left out.
nlohmann::json resources_to_json(const Resources& resources);

/// The names of all members that parse_resources() knows.
std::vector<std::string_view> resource_names();

std::string_view name_of(WeightUse weights) noexcept;

/// {"budget": {"cpus", "ram_bytes"}, "machine": {"cpus", "memory_bytes", "local_ranks"}, "shortages": […]}: in every
/// loader's plan.
nlohmann::json limits_json(const Engine& engine);

}  // namespace drapps
