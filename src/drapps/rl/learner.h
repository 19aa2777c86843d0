// PPO in many environments at once: so many steps in each, then an update.
//
// Rewards are divided by the standard deviation of their discounted sum, as known so far, and cut to ±10. All that
// happens is a function of the seed; a checkpoint goes on as if nothing had been interrupted, to the last bit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/rl/environment.h"
#include "drapps/rl/ppo.h"

namespace drapps::rl {

struct LearnerOptions {
  PpoOptions ppo;
  std::size_t hidden = 64;
  std::size_t environments = 64;
  std::size_t steps = 64;  // in each, between updates
  std::uint64_t decisions = 8'000'000;
  std::uint64_t seed = 1;
};

/// What an update tells of itself.
struct Progress {
  std::uint64_t decisions = 0;
  std::uint64_t episodes = 0;  // that have ended since the update before
  double reward = 0;           // mean sum of rewards of those, as they are; NaN where none ended
  double explained = 0;        // share of the variance of returns that the critic explains
  PpoLosses losses;
};

class Learner {
 public:
  using Make = std::function<std::unique_ptr<Environment>()>;

  Learner(const LearnerOptions& options, const Make& make);

  bool done() const noexcept { return decisions_ >= options_.decisions; }
  std::uint64_t decisions() const noexcept { return decisions_; }
  const ActorCritic<float>& nets() const noexcept { return ppo_.nets(); }
  ActorCritic<float>& nets() noexcept { return ppo_.nets(); }

  /// Steps in all environments, and an update.
  Progress go_on();

  /// All that go_on() depends on but the options and environments.
  std::vector<std::uint8_t> save();
  /// The reverse, into a learner that has just been made. kCorrupt where it is no such thing: then the learner is of no
  /// more use.
  Status restore(std::span<const std::uint8_t> saved);

 private:
  struct Place {
    std::unique_ptr<Environment> environment;
    std::uint64_t episode = 0;
    std::vector<float> actions{};  // of the episode, so far
    double sum = 0;                // of its rewards
    double discounted = 0;         // sum of rewards, of which old ones count ever less
  };
  template <class Visit>
  void visit_memory(const Visit& visit);
  void begin(Place& place);
  float scaled(double reward, Place& place) noexcept;

  LearnerOptions options_;
  Random random_;
  Ppo ppo_;
  std::vector<Place> places_;
  std::uint64_t decisions_ = 0;
  std::uint64_t drawn_ = 0;    // words of random_, where it is saved
  std::uint64_t counted_ = 0;  // discounted sums seen, and their moments
  double mean_ = 0, squares_ = 0;
};

}  // namespace drapps::rl
