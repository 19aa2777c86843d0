// PPO in many environments at once: so many steps in each, then an update.
//
// Rewards are divided by the standard deviation of their discounted sum, as known so far, and cut to ±10.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/rl/environment.h"
#include "drapps/rl/ppo.h"
#include "drapps/rl/running_episode.h"
#include "drapps/rl/training.h"

namespace drapps::rl {

struct LearnerOptions {
  PpoOptions ppo;
  std::size_t hidden = 64;
  std::size_t environments = 64;
  std::size_t steps = 64;  // in each, between updates
  std::uint64_t decisions = 8'000'000;
  std::uint64_t seed = 1;
};

class Learner final : public Training {
 public:
  using Make = std::function<std::unique_ptr<Environment>()>;

  Learner(const LearnerOptions& options, const Make& make);

  bool done() const noexcept override { return decisions_ >= options_.decisions; }
  const ActorCritic<float>& nets() const noexcept { return ppo_.nets(); }
  const Mlp<float>& actor() const noexcept override { return ppo_.nets().actor; }
  Mlp<float>& actor() noexcept override { return ppo_.nets().actor; }
  /// Steps in all environments, and an update.
  Progress go_on() override;
  std::vector<std::uint8_t> save() override;
  Status restore(std::span<const std::uint8_t> saved) override;

 private:
  struct EnvironmentPlace {
    RunningEpisode episode;
    double discounted = 0;  // sum of rewards, of which old ones count ever less
  };
  template <class Visit>
  void visit_memory(const Visit& visit);
  float scaled(double reward, EnvironmentPlace& place) noexcept;

  LearnerOptions options_;
  Random random_;
  Ppo ppo_;
  std::vector<EnvironmentPlace> places_;
  std::uint64_t decisions_ = 0;
  std::uint64_t drawn_ = 0;    // words of random_, where it is saved
  std::uint64_t counted_ = 0;  // discounted sums seen, and their moments
  double mean_ = 0, squares_ = 0;
};

}  // namespace drapps::rl
