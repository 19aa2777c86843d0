// Policies by name. Every function may be called from any thread, and in a child of a fork.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/plant/policy.h"

namespace drapps {

struct PolicyKind {
  std::string_view name;
  std::unique_ptr<Policy> (*make)();
};

/// Makes a policy known to this process, besides "initial" (the default of pipelines), "trials" and "hill_climb". A
/// name that is known already keeps its policy.
void register_policy(const PolicyKind& kind);

std::vector<std::string_view> policy_names();

/// kInvalidArgument for an unknown name; the message lists the known ones.
Result<std::unique_ptr<Policy>> make_policy(std::string_view name);

}  // namespace drapps
