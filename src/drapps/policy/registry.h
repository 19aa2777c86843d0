// Policies by name.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/plant/policy.h"

namespace drapps {

/// The names for users: "initial" (the default) and "hill_climb". For tests there are also "random", "random_raw" and
/// "faulty".
std::vector<std::string_view> policy_names();

/// kInvalidArgument for an unknown name; the message lists the known ones.
Result<std::unique_ptr<Policy>> make_policy(std::string_view name);

}  // namespace drapps
