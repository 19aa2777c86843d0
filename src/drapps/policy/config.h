// A policy in words: which one, with which numbers, how often it decides, and the weights that it has learnt.
//
//   {"name": "hill_climb", "parameters": {"gain": 0.05}, "every_ns": 1000000000, "every_batches": 8}
//
// Everything but the name may be absent. With "judge": true the policy has one (judge.h). A learned policy has
// "weights" in base64 and "schema", the hash of the knobs and lanes for which they were learnt (plant/schema.h). With
// "learn": true it goes on learning where it runs (control/live_learner.h), under a judge, and "keep_in" is the folder
// in which what it learns is kept. The name alone, as a JSON string, is the policy as it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/base/knob.h"
#include "drapps/base/result.h"

namespace drapps {

/// A number that a policy declares: what it is where nothing is said, and what it may be.
struct PolicyParameter {
  std::string_view name;
  double fallback = 0;
  double low = 0;
  double high = 0;
  bool whole = false;
};

inline constexpr std::size_t kMostWeightBytes = 4 << 20;

struct PolicyConfig {
  std::string name = "initial";
  std::map<std::string, double, std::less<>> parameters{};  // the others are as declared
  std::optional<KnobClock> pace{};                          // when a decision is due; as the policy says where absent
  bool judge = false;                                       // whether it has one (judge.h)
  std::vector<std::byte> weights{};
  std::uint64_t schema = 0;  // schema_hash() of what the weights are for; 0: not said
  bool learn = false;        // goes on learning, and draws its moves for that
  std::string keep_in{};     // empty: what is learnt is not kept

  double number(const PolicyParameter& parameter) const {
    const auto given = parameters.find(parameter.name);
    return given == parameters.end() ? parameter.fallback : given->second;
  }
  bool operator==(const PolicyConfig&) const = default;
};

nlohmann::json policy_config_to_json(const PolicyConfig& config);

/// kInvalidArgument names what is unknown, of the wrong type or too large. Whether there is such a policy, and what it
/// takes, is for make_policy() to say.
Result<PolicyConfig> policy_config_from_json(const nlohmann::json& json);

}  // namespace drapps
