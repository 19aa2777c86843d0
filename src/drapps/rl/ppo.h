// Proximal policy optimisation: actor and critic are improved on what the actor itself has just done, as long as it has
// not become another.
//
//   loss = mean(-min(r A, clip(r, 1 - c, 1 + c) A)) + w_v mean((v - R)²) / 2 - w_e mean(H),
//
// with r the probability of the action over what it was when it was taken, A the advantage, R the return, H the
// entropy. Who tunes a policy that was trained elsewhere adds how far it has come from that one (PpoAnchor).
//
// Source: J. Schulman et al., "Proximal policy optimization algorithms", arXiv:1707.06347, 2017; the details are those
// of S. Huang et al., "The 37 implementation details of proximal policy optimization", ICLR blog track 2022: advantages
// are normalised by minibatch, gradients are cut by their norm, rates fall to 0, values are not clipped, and an update
// ends early where the divergence, estimated by the mean of (r - 1) - ln r, is above a target.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/rl/adam.h"
#include "drapps/rl/heads.h"
#include "drapps/rl/mlp.h"
#include "drapps/rl/random.h"

namespace drapps::rl {

struct PpoOptions {
  double gamma = 0.9;
  double lambda = 0.95;
  double clip = 0.2;
  double rate = 3e-4;  // falls to 0
  double entropy = 0.01, last_entropy = 0.001;
  double value = 0.5;
  double target_divergence = 0.03;
  double norm = 0.5;
  std::size_t epochs = 4;
  std::size_t minibatch = 512;
};

/// What was done: rows of all arrays belong together.
template <class T>
struct Experience {
  std::size_t rows = 0;
  std::vector<T> inputs{};            // [rows, inputs]
  std::vector<std::uint8_t> masks{};  // [rows, outputs]
  std::vector<T> actions{};           // [rows, values]
  std::vector<T> log_probs{};         // when they were taken
  std::vector<T> advantages{}, returns{};
};

/// Means over a minibatch.
struct PpoLosses {
  double policy = 0;
  double value = 0;
  double entropy = 0;
  double divergence = 0;
  double clipped = 0;  // share of actions whose ratio is outside the clip
  double away = 0;     // from the anchor

  /// Adds the losses of a part of the rows, weighted by the share that it is.
  void add(const PpoLosses& part, double share) noexcept {
    policy += share * part.policy;
    value += share * part.value;
    entropy += share * part.entropy;
    divergence += share * part.divergence;
    clipped += share * part.clipped;
    away += share * part.away;
  }
  double total(const PpoOptions& options, double entropy_weight) const noexcept {
    return policy + options.value * value - entropy_weight * entropy;
  }
};

template <class T>
struct ActorCritic {
  Heads heads;
  Mlp<T> actor, critic;

  /// Two hidden layers each. @param inputs  of both.
  ActorCritic(Heads of, std::size_t inputs, std::size_t hidden)
      : heads(std::move(of)), actor({inputs, hidden, hidden, heads.outputs()}), critic({inputs, hidden, hidden, 1}) {}
};

/// Gradients of the losses of a minibatch, and memory that is used again.
template <class T>
struct PpoGradients {
  std::vector<T> actor, critic;  // by parameters
  typename Mlp<T>::MlpPass actor_pass{}, critic_pass{}, anchor_pass{};
  std::vector<T> outputs{}, values{};

  explicit PpoGradients(const ActorCritic<T>& nets)
      : actor(nets.actor.parameters().size()), critic(nets.critic.parameters().size()) {}
};

/// A policy that the actor is not to leave: `weight` times its divergence from it is a loss.
template <class T>
struct PpoAnchor {
  const Mlp<T>* actor = nullptr;  // null: there is none
  double weight = 0;
};

/// The losses of a minibatch as it stands; their gradients take the place of those before.
template <class T>
PpoLosses ppo_losses(const ActorCritic<T>& nets, const Experience<T>& batch, const PpoOptions& options,
                     double entropy_weight, PpoGradients<T>& gradients, const PpoAnchor<T>& anchor = {});

/// The rows of `all` at `places`, in this order, with normalised advantages.
void gather(const Experience<float>& all, std::span<const std::uint32_t> places, Experience<float>& into);

/// Share of the variance of the returns that values explain; 0 where there is none.
double explained_of(const Experience<float>& experience, std::span<const float> values);

class Ppo {
 public:
  Ppo(ActorCritic<float> nets, const PpoOptions& options)
      : nets_(std::move(nets)),
        options_(options),
        actor_steps_(nets_.actor.parameters().size()),
        critic_steps_(nets_.critic.parameters().size()) {}

  const ActorCritic<float>& nets() const noexcept { return nets_; }
  const PpoOptions& options() const noexcept { return options_; }

  /// @param progress  share of the training that is done, 0 to 1.
  /// @return means over the minibatches of the last epoch.
  PpoLosses update(const Experience<float>& experience, double progress, Random& random);

  /// Calls visit(span of float or std::uint64_t&) for all that a checkpoint keeps.
  template <class Visit>
  void visit_memory(const Visit& visit) {
    visit(nets_.actor.parameters());
    visit(nets_.critic.parameters());
    for (Adam<float>* adam : {&actor_steps_, &critic_steps_}) {
      visit(adam->steps());
      visit(std::span<float>(adam->first()));
      visit(std::span<float>(adam->second()));
    }
  }
  ActorCritic<float>& nets() noexcept { return nets_; }

 private:
  ActorCritic<float> nets_;
  PpoOptions options_;
  Adam<float> actor_steps_, critic_steps_;
};

}  // namespace drapps::rl
