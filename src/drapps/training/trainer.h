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
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/policy/learned_weights.h"
#include "drapps/rl/training.h"
#include "drapps/training/recorded.h"
#include "drapps/training/training_options.h"

namespace drapps::training {

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
