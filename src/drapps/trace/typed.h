// What a trace of this version's schema (check_schema()) holds, as the types that policies know. kCorrupt for what no
// recording holds.
#pragma once

#include <cstdint>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/plant/plant.h"
#include "drapps/trace/entry.h"

namespace drapps::trace {

/// The error for what no recording holds.
Error impossible(const char* what);

Result<Limits> limits_of(const LimitsRead& read);
/// @param values  knobs, then weights.
Result<Settings> settings_of(const std::vector<std::int32_t>& values);
Result<Observation> observation_of(const DecisionRead& read);

}  // namespace drapps::trace
