#include "drapps/training/training_options.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "drapps/policy/published.h"
#include "drapps/sim/world_json.h"

namespace drapps::training {
namespace {

using nlohmann::json;

constexpr std::size_t kSacSteps = 16;    // in each environment, between updates
constexpr double kOffPolicyRate = 1e-3;  // of learners that use a step many times

/// Calls visit(name, number&, least, most) for each option that is a number.
template <class Options, class Visit>
void each_number(Options& options, const Visit& visit) {
  visit("seed", options.learner.seed, 0.0, 1e9);
  visit("decisions", options.learner.decisions, 1.0, 1e12);
  visit("hidden", options.learner.hidden, 1.0, static_cast<double>(rl::kMostWidth));
  visit("worlds", options.episodes.count, 1.0, 1e6);
  visit("warm", options.plant.warm, 0.0, 1.0);
  visit("anywhere", options.plant.anywhere, 0.0, 1.0);
  visit("delay", options.plant.delay, 0.0, 16.0);
  visit("noise", options.plant.noise, 0.0, 1.0);
  visit("form", options.form, 0.0, 1.0);
  visit("look_ahead", options.look_ahead, 0.0, 1.0);
  visit("best", options.best, 0.0, 1.0);
  visit("trials", options.trials, 0.0, 1.0);
  visit("far", options.far, 0.0, 1.0);
  visit("fallback", options.fallback, 0.0, 1.0);
  visit("sac", options.by_sac, 0.0, 1.0);
  visit("hard", options.plant.hard, 0.0, 1.0);
  visit("like", options.episodes.like, 0.0, 1.0);
  visit("spread", options.episodes.spread, 0.0, 1.0);
  visit("gamma", options.learner.ppo.gamma, 0.0, 0.999);
  visit("rate", options.learner.ppo.rate, 1e-7, 1.0);
  visit("entropy", options.learner.ppo.entropy, 0.0, 1.0);
  visit("environments", options.learner.environments, 1.0, 4096.0);
  visit("steps", options.learner.steps, 1.0, 4096.0);
  visit("updates", options.sac.updates, 1.0, 4096.0);
  visit("undecided", options.sac.sac.undecided, 0.0, 1.0);
  visit("kept", options.sac.kept, 1024.0, 1e6);
  visit("conservative", options.offline.conservative, 0.0, 100.0);
  visit("threshold", options.offline.threshold, 0.0, 1.0);
  visit("beta", options.offline.beta, 1e-3, 1e3);
}

template <class Number>
Status read_number(const std::string& name, const json& value, Number& into, double least, double most) {
  const bool fits = value.is_number() && least <= value.get<double>() && value.get<double>() <= most &&
                    (!std::is_integral_v<Number> || value.is_number_integer());
  if (!fits) {
    return invalid(name + " of a training must be a " + (std::is_integral_v<Number> ? "whole " : "") + "number from " +
                   json(least).dump() + " to " + json(most).dump());
  }
  into = value.get<Number>();
  return ok_status();
}

Status read_reward(const json& json_of, Reward& reward) {
  const json& learner = json_of.contains("learner") ? json_of["learner"] : json();
  const bool published = learner.is_string() && published_shape(learner.get_ref<const std::string&>()).has_value();
  const json named = json_of.contains("reward") ? json_of["reward"] : published ? learner : json("own");
  const auto choice = named.is_string() ? reward_named(named.get_ref<const std::string&>()) : std::nullopt;
  if (!choice) return invalid("reward of a training must be own, paper-a, paper-b or paper-c");
  reward = *choice;
  if (!json_of.contains("reward_weights")) return ok_status();
  const json& weights = json_of["reward_weights"];
  const bool numbers = weights.is_array() && weights.size() <= reward.weights.size() &&
                       std::ranges::all_of(weights, [](const json& each) {
                         return each.is_number() && each.get<double>() >= 0 && each.get<double>() <= 100;
                       });
  if (!numbers) return invalid("reward_weights of a training must be up to four numbers from 0 to 100");
  for (std::size_t i = 0; i < weights.size(); ++i) reward.weights[i] = weights[i].get<double>();
  return ok_status();
}

void learn_by_sac(TrainingOptions& options) {
  options.kind = LearnerKind::kSac;
  options.learner.steps = kSacSteps;
  options.learner.ppo.rate = kOffPolicyRate;
}

Status read_learner(const json& from, TrainingOptions& options) {
  const json& named = from.contains("learner") ? from["learner"] : json("ppo");
  const std::string name = named.is_string() ? named.get<std::string>() : "";
  const bool by_sac = from.contains("sac") && from["sac"] == 1;
  if (by_sac && name != kResidual && !published_shape(name)) {
    return invalid("sac of a training is for residual and published designs: learner sac learns by it anyway");
  }
  if (name == "ppo") return ok_status();
  if (name == "sac") {
    learn_by_sac(options);
    return ok_status();
  }
  if (name == kResidual || published_shape(name)) {
    options.design = name;
    options.plant.pace = learned_pace(name);
    if (by_sac) learn_by_sac(options);
    return ok_status();
  }
  const auto kind = rl::offline_kind_named(name);
  if (!kind) {
    return invalid(
        "learner of a training must be ppo, sac, cloning, awac, cql, bcq, residual, paper-a, paper-b or paper-c");
  }
  options.kind = LearnerKind::kOffline;
  options.offline.kind = *kind;
  options.learner.ppo.rate = kOffPolicyRate;
  return ok_status();
}

/// Gives each learner the options that learners share, which are said once.
void share_options(TrainingOptions& options) {
  const rl::LearnerOptions& of = options.learner;
  rl::SacLearnerOptions& sac = options.sac;
  sac.sac.gamma = of.ppo.gamma;
  sac.sac.rate = of.ppo.rate;
  sac.hidden = of.hidden;
  sac.environments = of.environments;
  sac.steps = of.steps;
  sac.decisions = of.decisions;
  sac.seed = of.seed;
  rl::OfflineOptions& offline = options.offline;
  offline.gamma = of.ppo.gamma;
  offline.rate = of.ppo.rate;
  offline.hidden = of.hidden;
  offline.updates = (of.decisions + offline.batch - 1) / offline.batch;
  offline.seed = of.seed;
}

}  // namespace

std::string_view learner_name(const TrainingOptions& options) {
  if (!options.design.empty()) return options.design;
  switch (options.kind) {
    case LearnerKind::kPpo: return "ppo";
    case LearnerKind::kSac: return "sac";
    case LearnerKind::kOffline: return rl::name_of(options.offline.kind);
  }
  return "";
}

Result<TrainingOptions> training_options_from_json(const json& from) {
  if (!from.is_object()) return invalid("the options of a training are an object");
  TrainingOptions options;
  std::vector<std::string> known{"learner", "reward", "reward_weights", "world"};
  Status status = read_reward(from, options.plant.reward);
  if (status.ok()) status = read_learner(from, options);
  each_number(options, [&](const char* name, auto& into, double least, double most) {
    known.emplace_back(name);
    if (status.ok() && from.contains(name)) status = read_number(name, from[name], into, least, most);
  });
  if (!status.ok()) return std::move(status).error();
  if (from.contains("world")) {
    auto world = sim::world_from_json(from["world"]);
    if (!world.ok()) return std::move(world).error();
    options.episodes.world = *world;
  }
  for (const auto& [name, value] : from.items()) {
    if (std::ranges::find(known, name) == known.end()) return invalid("a training has no option " + name);
  }
  if (options.plant.warm + options.plant.anywhere > 1) {
    return invalid("warm and anywhere of a training must be 1 together at most");
  }
  options.episodes.seed = options.learner.seed;
  share_options(options);
  return options;
}

json training_options_to_json(const TrainingOptions& options) {
  json root{{"learner", learner_name(options)},
            {"reward", name_of(options.plant.reward.kind)},
            {"reward_weights", options.plant.reward.weights}};
  each_number(options, [&](const char* name, const auto& value, double, double) { root[name] = value; });
  if (options.episodes.world) root["world"] = sim::world_to_json(*options.episodes.world);
  return root;
}

}  // namespace drapps::training
