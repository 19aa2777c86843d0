// Soft actor-critic: an actor that is to be good and undecided, and two critics of what it will come to, of which the
// lower is believed. It learns from what was done at any time, so each step is used many times over.
//
//   y        = r + γ (min_i E_π' Q̄_i(s', ·) + α H(π(s')))          0 behind an end
//   critics:   mean((Q_i(s, a) - y)²) / 2
//   actor:     mean(-α H(π(s)) - min_i E_π Q_i(s, ·))
//   ln α:      mean(α (H(π(s)) - H*)),
//
// with Q̄ a critic that follows slowly. Choices are averaged over, not drawn, so that their part has no noise; shares
// are drawn, and differentiated with the noise held (drawn_shares.h). What Q is for several heads, action_values.h
// says.
//
// Source: T. Haarnoja et al., "Soft actor-critic algorithms and applications", arXiv:1812.05905, 2018; of choices:
// P. Christodoulou, "Soft actor-critic for discrete action settings", arXiv:1910.07207, 2019.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "drapps/rl/action_values.h"
#include "drapps/rl/adam.h"
#include "drapps/rl/drawn_shares.h"
#include "drapps/rl/mlp.h"
#include "drapps/rl/transitions.h"

namespace drapps::rl {

struct SacOptions {
  double gamma = 0.9;
  double rate = 1e-3;
  double follow = 0.01;      // of the way that the slow critics go at each update
  double undecided = 0.2;    // H* of choices, as a share of the entropy of those allowed
  double first_alpha = 0.1;  // at the beginning
  double norm = 5;           // of gradients, at most
};

template <class T>
struct SacNets {
  ActionValues values;
  Mlp<T> actor;
  std::array<Mlp<T>, 2> critics, slow;

  /// A head of shares, and where its outputs, its noise and its shares stand.
  struct PlacedShares {
    ShareHead head;
    std::size_t output, noise, share;
  };
  std::vector<PlacedShares> shares{};
  std::size_t noises = 0;       // of a row
  double wanted_of_shares = 0;  // their part of H*

  /// Two hidden layers each.
  SacNets(const Heads& heads, std::size_t inputs, std::size_t hidden);
};

/// What is drawn for a batch, and memory that is used again.
template <class T>
struct SacScratch {
  std::vector<T> noise{};                     // [rows, noises], standard normal: of the actor's loss and of the targets
  std::vector<T> shares{};                    // [rows, shares] of the actor
  std::vector<double> share_entropies{};      // of each row: what the shares have of H
  std::vector<double> entropies{}, wanted{};  // of each row: H and H*
  std::vector<T> taken{}, by_outputs{}, by_worth{}, by_taken{};
  typename Mlp<T>::MlpPass actor_pass{}, critic_pass[2]{};
};

/// y of each row.
template <class T>
std::vector<T> sac_targets(const SacNets<T>& nets, const Transitions<T>& batch, double alpha, double gamma,
                           SacScratch<T>& scratch);

/// The loss of one critic; adds its gradient.
template <class T>
double sac_critic_loss(const SacNets<T>& nets, const Mlp<T>& critic, const Transitions<T>& batch,
                       std::span<const T> targets, std::span<T> gradient, SacScratch<T>& scratch);

/// The loss of the actor; adds its gradient, and leaves entropies and what is wanted of them.
template <class T>
double sac_actor_loss(const SacNets<T>& nets, const Transitions<T>& batch, double alpha, double undecided,
                      std::span<T> gradient, SacScratch<T>& scratch);

struct SacLosses {
  double actor = 0, critic = 0, entropy = 0, alpha = 0;
};

class Sac {
 public:
  Sac(SacNets<float> nets, const SacOptions& options);

  const SacNets<float>& nets() const noexcept { return nets_; }
  SacNets<float>& nets() noexcept { return nets_; }

  SacLosses update(const Transitions<float>& batch, Random& random);

  template <class Visit>
  void visit_memory(const Visit& visit) {
    visit(nets_.actor.parameters());
    for (auto* both : {&nets_.critics, &nets_.slow}) {
      for (Mlp<float>& each : *both) visit(each.parameters());
    }
    visit(log_alpha_);
    for (Adam<float>* adam : {&actor_steps_, &critic_steps_[0], &critic_steps_[1], &alpha_steps_}) {
      visit(adam->steps());
      visit(std::span<float>(adam->first()));
      visit(std::span<float>(adam->second()));
    }
  }

 private:
  SacNets<float> nets_;
  SacOptions options_;
  float log_alpha_;
  Adam<float> actor_steps_;
  std::array<Adam<float>, 2> critic_steps_;
  Adam<float> alpha_steps_{1};
  SacScratch<float> scratch_;
  std::vector<float> gradient_;
};

}  // namespace drapps::rl
