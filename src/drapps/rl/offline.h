// Learning from what others did, where nothing can be tried: losses for choices, given steps that were recorded.
//
// A critic gives a number for every choice (action_values.h). Nobody sees what an action that was never taken comes to,
// so a critic's guess of it must not be believed:
//
// - Conservative Q-learning (CQL) adds w Σ_h (ln Σ_c exp q_h(s)[c] - q_h(s)[a_h]) to the error of the critic, which
//   lowers what was not done. The best choice by the critic is made.
// - Batch-constrained Q-learning (BCQ) chooses the best among those that a clone of who acted finds at least t times as
//   likely as its likeliest one. An actor learns these choices, as one network.
// - Cloning does what was done. Weighted by advantage it does more of what turned out well: each step counts
//   exp(A / β), at most 20 times, with A = Q(s, a) - E_π Q(s, ·).
//
// Source: A. Kumar et al., "Conservative Q-learning for offline reinforcement learning", NeurIPS 2020; S. Fujimoto et
// al., "Benchmarking batch deep reinforcement learning algorithms", arXiv:1910.01708, 2019; A. Nair et al., "AWAC:
// accelerating online reinforcement learning with offline datasets", arXiv:2006.09359, 2020.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/rl/action_values.h"
#include "drapps/rl/mlp.h"
#include "drapps/rl/transitions.h"

namespace drapps::rl {

inline constexpr double kMostWeight = 20;

/// Which choices a clone's logits support: outputs() bytes, 1 where a choice is allowed by `mask` and at least
/// `threshold` times as likely as the likeliest one of its head.
template <class T>
void supported(const Heads& heads, const T* likely, const std::uint8_t* mask, double threshold, std::uint8_t* into);

/// Mean over a batch of (Q(s, a) - y)² / 2 + w Σ_h (ln Σ_c exp q_h[c] - q_h[a_h]); adds its gradient.
/// @param conservative  w; 0: plain Q-learning.
template <class T>
double offline_critic_loss(const ActionValues& values, const Mlp<T>& critic, const Transitions<T>& batch,
                           std::span<const T> targets, double conservative, std::span<T> gradient,
                           typename Mlp<T>::MlpPass& pass);

/// Mean of -w ln π(a|s) over a batch; adds its gradient. @param weights  of each row.
template <class T>
double cloning_loss(const Heads& heads, const Mlp<T>& actor, const Transitions<T>& batch, std::span<const T> actions,
                    std::span<const T> weights, std::span<T> gradient, typename Mlp<T>::MlpPass& pass);

/// exp(A / β), at most kMostWeight, where A is how much better an action is than what an actor does in the mean.
template <class T>
double advantage_weight(const ActionValues& values, const T* worth, const T* outputs, const std::uint8_t* mask,
                        const T* action, double beta) noexcept;

}  // namespace drapps::rl
