// A policy that was trained elsewhere goes on learning where it acts, in pieces so small that whoever calls may stop
// between any two of them: by proximal policy optimisation (ppo.h), with less of everything.
//
//   tuner.begin(steps);
//   std::optional<FineTuned> tuned;
//   while (tuner.busy()) tuned = tuner.go_on();  // piece by piece, whenever there is time
//   if (tuned->acted) use(tuner.actor());
//
// The critic comes first: the actor stays as it is until what the critic expects explains the returns. Then its last
// layer moves, in small steps, and is held by its divergence from the policy that it began as.
//
// Rewards count by how far they are from their mean so far, in standard deviations; so the critic begins with the
// right mean, 0.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "drapps/rl/adam.h"
#include "drapps/rl/mlp.h"
#include "drapps/rl/ppo.h"
#include "drapps/rl/random.h"
#include "drapps/rl/transitions.h"

namespace drapps::rl {

struct FineTuneOptions {
  PpoOptions ppo{.clip = 0.05,
                 .rate = 3e-5,  // of the actor
                 .entropy = 0,
                 .last_entropy = 0,
                 .target_divergence = 0.005,
                 .minibatch = 32};
  double critic_rate = 1e-3;
  double anchor = 0.3;           // weight of the divergence from the policy that it began as
  double least_explained = 0.5;  // share of the returns' variance, before which the actor stays
  bool last_layer = true;        // only the actor's last layer moves
  std::size_t hidden = 64;       // units in each of the critic's two layers
  std::uint64_t seed = 1;
};

/// What a published design does that learns in the loop: PPO with the whole network, as in a training, and no anchor.
FineTuneOptions plain_ppo();

/// What an update has come to.
struct FineTuned {
  bool acted = false;    // the actor has moved
  double explained = 0;  // share of the variance of returns, before the update
  PpoLosses losses{};    // means over the minibatches of the last epoch
};

class FineTuner {
 public:
  FineTuner(Heads heads, Mlp<float> actor, const FineTuneOptions& options);

  const Mlp<float>& actor() const noexcept { return nets_.actor; }
  /// Goes on from other parameters; the anchor and the critic stay, an update under way is given up.
  void set_actor(std::span<const float> parameters);

  /// Steps that the actor as it now is has taken, in their order. A row that `ended` is the last before a gap: what
  /// followed it was something else. Begins an update; none may be under way.
  void begin(const Transitions<float>& steps);
  bool busy() const noexcept { return busy_; }
  /// A piece of the update: a minibatch, or first a look at all steps. Gives what the update has come to with its last
  /// one. Requires busy().
  std::optional<FineTuned> go_on();

 private:
  void take_in();
  void learn();

  FineTuneOptions options_;
  ActorCritic<float> nets_;
  Mlp<float> anchor_;
  Adam<float> actor_steps_, critic_steps_;
  Random random_;
  std::uint64_t counted_ = 0;  // rewards, and their moments
  double mean_ = 0, squares_ = 0;

  bool busy_ = false, taken_in_ = false;
  Transitions<float> steps_;
  Experience<float> done_, batch_;
  PpoGradients<float> gradients_;
  std::vector<std::uint32_t> places_;
  std::size_t epoch_ = 0, at_ = 0;  // of places_
  PpoLosses mean_losses_;           // of this epoch so far
  FineTuned tuned_;
};

}  // namespace drapps::rl
