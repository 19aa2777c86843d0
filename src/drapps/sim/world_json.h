// Worlds and scenarios as JSON: one object per group of numbers, as visit_world() names them.
//
//   {"seconds": 60, "seed": 1, "segments": [{"begin": 0, "name": "", "world": {"cores": {"count": 8}, …}}]}
//
// What is left out is as a World begins with.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "drapps/base/result.h"
#include "drapps/sim/scenario.h"

namespace drapps::sim {

nlohmann::json world_to_json(const World& world);
/// kInvalidArgument names a group or a number that does not exist, or what one may be.
Result<World> world_from_json(const nlohmann::json& json);

/// kInvalidArgument as above, and where segments are missing or out of order.
Result<Scenario> scenario_from_json(const nlohmann::json& json);

}  // namespace drapps::sim
