#include "drapps/policy/registry.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "drapps/base/registry.h"
#include "drapps/plant/schema.h"
#include "drapps/policy/aimd.h"
#include "drapps/policy/explore.h"
#include "drapps/policy/hill_climb.h"
#include "drapps/policy/initial.h"
#include "drapps/policy/learned.h"
#include "drapps/policy/mpc.h"
#include "drapps/policy/placement.h"
#include "drapps/policy/rule.h"
#include "drapps/policy/stage_model.h"
#include "drapps/policy/static.h"
#include "drapps/policy/trials.h"

namespace drapps {
namespace {

/// A policy that decides when its config says, not when it says itself, or that has a judge.
class Configured final : public Policy {
 public:
  Configured(std::unique_ptr<const Policy> policy, const PolicyConfig& config)
      : policy_(std::move(policy)), pace_(config.pace), judged_(config.judge || config.learn) {}
  std::string_view name() const noexcept override { return policy_->name(); }
  Settings decide(const Observation& observation, PolicyState& state) const override {
    return policy_->decide(observation, state);
  }
  KnobClock pace(const Limits& limits) const noexcept override { return pace_.value_or(policy_->pace(limits)); }
  bool judged() const noexcept override { return judged_; }
  bool guarded() const noexcept override { return policy_->guarded(); }
  bool knows(const PolicyState& state) const noexcept override { return policy_->knows(state); }

 private:
  std::unique_ptr<const Policy> policy_;
  std::optional<KnobClock> pace_;
  bool judged_;
};

Result<std::unique_ptr<Policy>> make_initial(const PolicyConfig&) { return std::unique_ptr<Policy>(new Initial); }

template <class P>
Result<std::unique_ptr<Policy>> make_of(const PolicyConfig& config) {
  return std::unique_ptr<Policy>(new P(config));
}

using Known = Registry<PolicyKind>::Entry;
constexpr Known kExplore{{"explore", make_of<Explore>, Explore::kParameters}};
constexpr PolicyKind learned(std::size_t place) {
  return {kLearnedNames[place], LearnedPolicy::make, {}, /*learned=*/true, /*named=*/true};
}
constexpr Known kResidual{learned(9), &kExplore};
constexpr Known kPaperC{learned(8), &kResidual};
constexpr Known kPaperB{learned(7), &kPaperC};
constexpr Known kPaperA{learned(6), &kPaperB};
constexpr Known kCloning{learned(5), &kPaperA};
constexpr Known kAwac{learned(4), &kCloning};
constexpr Known kBcq{learned(3), &kAwac};
constexpr Known kCql{learned(2), &kBcq};
constexpr Known kSac{learned(1), &kCql};
constexpr Known kPpo{learned(0), &kSac};
constexpr Known kMpc{{"mpc", Mpc::make, Mpc::kParameters, /*learned=*/true}, &kPpo};
constexpr Known kModel{{"model", make_of<StageModel>, StageModel::kParameters}, &kMpc};
constexpr Known kAimd{{"aimd", make_of<Aimd>, Aimd::kParameters}, &kModel};
constexpr Known kRule{{"rule", make_of<Rule>, Rule::kParameters}, &kAimd};
constexpr Known kFixedSplit{{"fixed_split", make_of<FixedSplit>, FixedSplit::kParameters}, &kRule};
constexpr Known kRoundRobin{{"round_robin", make_of<RoundRobin>}, &kFixedSplit};
constexpr Known kGpuOnly{{"gpu_only", make_of<GpuOnly>}, &kRoundRobin};
constexpr Known kCpuOnly{{"cpu_only", make_of<CpuOnly>}, &kGpuOnly};
constexpr Known kHillClimb{{"hill_climb", make_of<HillClimb>, HillClimb::kParameters}, &kCpuOnly};
constexpr Known kStatic{{"static", make_of<Static>, Static::kParameters}, &kHillClimb};
constexpr Known kTrials{{"trials", make_of<Trials>, Trials::kParameters}, &kStatic};
constexpr Known kInitial{{"initial", make_initial}, &kTrials};
constinit Registry<PolicyKind> known_policies(kInitial);

template <class Names>
std::string joined_names(const Names& names) {
  std::string text;
  for (const std::string_view name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text;
}

std::string text_of(double number) { return nlohmann::json(number).dump(); }

Status check_parameter(const PolicyKind& kind, const std::string& name, double value) {
  std::vector<std::string_view> names;
  for (const PolicyParameter& known : kind.parameters) {
    names.push_back(known.name);
    if (known.name != name) continue;
    if (known.low <= value && value <= known.high && (!known.whole || value == std::trunc(value))) return ok_status();
    return invalid("the parameter " + name + " of policy " + std::string(kind.name) + " must be a " +
                   (known.whole ? "whole " : "") + "number from " + text_of(known.low) + " to " + text_of(known.high) +
                   ", not " + text_of(value));
  }
  return invalid("policy " + std::string(kind.name) + " has no parameter " + name + "; it has " +
                 (names.empty() ? "none" : joined_names(names)));
}

Status check_weights(const PolicyKind& kind, const PolicyConfig& config) {
  const std::string name(kind.name);
  if (!config.weights.empty() && !kind.learned) return invalid("policy " + name + " has no weights");
  if (config.weights.size() > kMostWeightBytes) {
    return invalid("the weights of policy " + name + " may be " + std::to_string(kMostWeightBytes) + " bytes at most");
  }
  const bool has_schema = config.schema != 0 || (!config.weights.empty() && !kind.named);
  if (!has_schema || config.schema == schema_hash()) return ok_status();
  return invalid("policy " + name + " was made for another version's knobs and lanes: schema " +
                 schema_hex(config.schema) + ", and this version's is " + schema_hex(schema_hash()));
}

Error unknown(std::string_view name) {
  return invalid("there is no policy \"" + std::string(name) + "\"; choose one of " + joined_names(policy_names()));
}

}  // namespace

void register_policy(const PolicyKind& kind) { known_policies.add(kind); }

std::vector<std::string_view> policy_names() {
  std::vector<std::string_view> names;
  for (const Known* known = known_policies.first(); known != nullptr; known = known->next) {
    names.push_back(known->value.name);
  }
  return names;
}

Result<std::span<const PolicyParameter>> policy_parameters(std::string_view name) {
  const PolicyKind* kind = known_policies.find(name);
  if (kind == nullptr) return unknown(name);
  return kind->parameters;
}

Result<std::unique_ptr<Policy>> make_policy(const PolicyConfig& config) {
  const PolicyKind* kind = known_policies.find(config.name);
  if (kind == nullptr) return unknown(config.name);
  for (const auto& [name, value] : config.parameters) DRAPPS_RETURN_IF_ERROR(check_parameter(*kind, name, value));
  DRAPPS_RETURN_IF_ERROR(check_weights(*kind, config));
  if (config.learn && !learns_live(config.name)) {
    return invalid("policy " + config.name + " does not go on learning: learn=True is for " +
                   joined_names(kLiveLearners));
  }
  auto policy = kind->make(config);
  if (!policy.ok() || (!config.pace && !config.judge && !config.learn)) return policy;
  return std::unique_ptr<Policy>(new Configured(*std::move(policy), config));
}

}  // namespace drapps
