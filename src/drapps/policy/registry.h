// Policies by name. Every function may be called from any thread, and in a child of a fork.
//
//   register_policy({.name = "mine", .make = &make_mine});
//   auto policy = make_policy({.name = "mine"});
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"

namespace drapps {

struct PolicyKind {
  std::string_view name;
  /// Gets only what has been checked against the members below.
  Result<std::unique_ptr<Policy>> (*make)(const PolicyConfig& config);
  std::span<const PolicyParameter> parameters{};
  bool learned = false;  // has weights
  bool named = false;    // the weights say by name what they are for; others are for one schema
};

/// Makes a policy known to this process, besides those that come with the library ("initial" is the default of
/// pipelines). A name that is known already keeps its policy.
void register_policy(const PolicyKind& kind);

std::vector<std::string_view> policy_names();

/// What a policy declares; kInvalidArgument for an unknown name.
Result<std::span<const PolicyParameter>> policy_parameters(std::string_view name);

/// kInvalidArgument for an unknown name (the message lists the known ones), a parameter that the policy does not
/// declare or that is out of its range, weights for a policy that learns nothing, and those of another schema.
Result<std::unique_ptr<Policy>> make_policy(const PolicyConfig& config);

}  // namespace drapps
