// A policy that is trained on simulated plants or from recorded runs, from its first decision to a file of weights.
//
//   auto trainer = Trainer::begun(options);
//   while (!(*trainer)->done()) show((*trainer)->go_on());
//   const std::vector<std::byte> weights = (*trainer)->weights();
//
// All is a function of the options: the same ones give the same weights. What save() gives goes on as if nothing had
// been interrupted, to the last bit.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/policy/learned_weights.h"
#include "drapps/rl/learner.h"
#include "drapps/rl/offline_learner.h"
#include "drapps/rl/sac_learner.h"
#include "drapps/training/plant_environment.h"
#include "drapps/training/recorded.h"

namespace drapps::training {

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

class Trainer {
 public:
  /// Searches the best settings of all episodes, which takes some 10 ms each; or reads recorded runs.
  /// @param runs  files of recorded runs, for a learner that takes these. kInvalidArgument where they are missing, or
  /// of no use to the learner; and as read_recorded().
  static Result<std::unique_ptr<Trainer>> begun(const TrainingOptions& options,
                                                const std::vector<std::string>& runs = {});

  /// The training that save() gave. kCorrupt where `saved` is nothing that save() has given, kInvalidArgument where it
  /// was with other runs; and as begun().
  static Result<std::unique_ptr<Trainer>> restored(std::span<const std::uint8_t> saved,
                                                   const std::vector<std::string>& runs = {});

  const TrainingOptions& options() const noexcept { return options_; }
  bool done() const noexcept { return learner_->done(); }
  /// Makes the decisions before an update, and the update.
  const rl::Progress& go_on();
  /// The progress of every update so far.
  const std::vector<rl::Progress>& curve() const noexcept { return curve_; }

  /// What a policy is made of (learned_weights.h).
  std::vector<std::byte> weights() const;
  std::vector<std::uint8_t> save();
  /// What it learns from, where that was recorded; its steps are with the learner.
  const std::optional<Recorded>& recorded() const noexcept { return recorded_; }

 private:
  Trainer(const TrainingOptions& options, std::optional<Recorded> recorded);
  static LearnedShape shape_of(const TrainingOptions& options);
  /// Finds the episodes that are the hardest for the policy as it is.
  void look_for_hardest();
  std::unique_ptr<rl::Training> made_learner();

  TrainingOptions options_;
  std::optional<Recorded> recorded_;
  LearnedShape shape_;
  std::shared_ptr<Course> course_;  // null where nothing is tried
  std::unique_ptr<rl::Training> learner_;
  std::vector<rl::Progress> curve_;
};

/// The seed of validation courses: far from those of trainings.
inline constexpr std::uint64_t kValidationSeed = std::uint64_t{1} << 40;

}  // namespace drapps::training
