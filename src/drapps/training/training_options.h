// What a training of a policy may be told, and how it stands in JSON.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "drapps/base/result.h"
#include "drapps/rl/learner.h"
#include "drapps/rl/offline_learner.h"
#include "drapps/rl/sac_learner.h"
#include "drapps/training/episodes.h"
#include "drapps/training/plant_environment.h"

namespace drapps::training {

/// A policy that moves by a notch what a heuristic proposes.
inline constexpr std::string_view kResidual = "residual";

/// What learns: PPO or SAC on simulated plants, or one of those that learn from recorded runs (rl/offline_learner.h).
enum class LearnerKind : std::uint8_t { kPpo, kSac, kOffline };

struct TrainingOptions {
  LearnerKind kind = LearnerKind::kPpo;
  std::string design;          // a published one (policy/published.h), or DRAPPS's own where empty
  rl::LearnerOptions learner;  // for other learners than PPO, what they share with it
  rl::SacLearnerOptions sac;
  rl::OfflineOptions offline{.threshold = 0.02};  // fits runs under the policy explore
  EpisodeOptions episodes;
  PlantOptions plant;
  std::uint32_t form = 0;        // 1: it chooses the form, too
  std::uint32_t look_ahead = 1;  // 0: it does not see what is to come
  std::uint32_t best = 1;        // 0: it does not remember the best settings so far
  std::uint32_t trials = 1;      // 0: it moves worker processes itself, and does not leave them to the policy trials
  std::uint32_t far = 1;         // 0: it moves worker processes by one notch a decision, too, and not by several
  std::uint32_t fallback = 1;    // 0: nothing takes back moves that made the training slower
  std::uint32_t by_sac = 0;      // 1: a design is trained by SAC, not by PPO
};

/// {"learner": "ppo", "seed": 1, "decisions": 8000000, "hidden": 64, "worlds": 512, "reward": "own", "reward_weights":
/// [0.04, …], "warm": 0.4, "delay": 2, "noise": 0.25, "gamma": 0.9, "rate": 0.0003, …}; what is left out is as
/// TrainingOptions has it. Learners are "ppo", "sac", "cloning", "awac", "cql" and "bcq". kInvalidArgument names what
/// is unknown or out of its range.
Result<TrainingOptions> training_options_from_json(const nlohmann::json& json);
nlohmann::json training_options_to_json(const TrainingOptions& options);
/// The name of what learns, or of the design.
std::string_view learner_name(const TrainingOptions& options);

}  // namespace drapps::training
