// What a network's outputs mean: distributions from which an action is drawn, one after another.
//
// - A choice among n, of which a mask may forbid some: n outputs are logits, the action is the place chosen. What is
//   forbidden has probability 0, when acting and when learning. Moves of a knob by a notch are three choices, moves of
//   a sixteenth from one lane to another as many as there are pairs, and one more.
// - A share in (0, 1): a Beta distribution with parameters 1 + softplus(z) of two outputs.
// - A share in (0, 1) that may be differentiated by the outputs, as soft actor-critic wants it: a normal deviate, of
//   the mean and the logarithm of the standard deviation that two outputs are, under the logistic function. Its entropy
//   is said without the logistic function, since with it there is no formula.
// - Shares of n that sum to 1: a Dirichlet distribution with parameters 1 + softplus(z) of n outputs; the action is n
//   numbers.
//
// Source of masks: S. Huang, S. Ontañón, "A closer look at invalid action masking in policy gradient algorithms",
// FLAIRS 2022; of bounded distributions: P.-W. Chou et al., "Improving stochastic policy gradients in continuous
// control with deep reinforcement learning using the Beta distribution", ICML 2017; of squashed deviates: T. Haarnoja
// et al., "Soft actor-critic algorithms and applications", arXiv:1812.05905, appendix C.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "drapps/rl/random.h"

namespace drapps::rl {

enum class HeadKind : std::uint8_t { kChoice, kBeta, kDirichlet, kNormal };

struct Head {
  HeadKind kind = HeadKind::kChoice;
  std::size_t size = 0;  // choices, or shares; 2 of one share

  std::size_t outputs() const noexcept { return size; }
  std::size_t values() const noexcept { return kind == HeadKind::kDirichlet ? size : 1; }
};

/// Most choices or shares of a head.
inline constexpr std::size_t kMostChoices = 160;

/// Shares are kept this far from 0, where a density may have no bound.
inline constexpr double kLeastShare = 1e-4;

/// The logarithm of a standard deviation lies within these.
inline constexpr double kLeastLogDeviation = -5, kMostLogDeviation = 2;

/// How likely an action is under all heads: sums over these, since heads are independent given the outputs.
struct Likelihood {
  double log_prob = 0;
  double entropy = 0;
};

/// Probabilities of `size` choices by their logits; those that are forbidden have 0.
using Probabilities = std::array<double, kMostChoices>;
template <class T>
Probabilities probabilities(const T* logits, const std::uint8_t* mask, std::size_t size) noexcept;
double entropy_of(const Probabilities& shares, std::size_t size) noexcept;

/// `outputs` and `mask` have outputs() places, `action` has values(). A mask's 0 forbids; one choice at least is
/// allowed. Masks mean nothing to shares.
class Heads {
 public:
  explicit Heads(std::vector<Head> heads = {});

  const std::vector<Head>& all() const noexcept { return heads_; }
  std::size_t outputs() const noexcept { return outputs_; }
  std::size_t values() const noexcept { return values_; }

  template <class T>
  void sample(const T* outputs, const std::uint8_t* mask, Random& random, T* action) const noexcept;
  /// The likeliest choices, the first of equals; the means of shares, and of deviates.
  template <class T>
  void mode(const T* outputs, const std::uint8_t* mask, T* action) const noexcept;
  template <class T>
  Likelihood likelihood(const T* outputs, const std::uint8_t* mask, const T* action) const noexcept;
  /// Writes the gradient of a loss with respect to the outputs, given its derivatives by log_prob and by entropy.
  template <class T>
  void gradient(const T* outputs, const std::uint8_t* mask, const T* action, double by_log_prob, double by_entropy,
                T* of_outputs) const noexcept;
  /// The Kullback-Leibler divergence of what `outputs` say from what `reference` says: the mean, over actions of the
  /// reference, of ln(its probability over the other's). Adds `by` times its gradient with respect to `outputs`.
  template <class T>
  double divergence(const T* reference, const T* outputs, const std::uint8_t* mask, double by,
                    T* of_outputs) const noexcept;

 private:
  std::vector<Head> heads_;
  std::size_t outputs_ = 0, values_ = 0;
};

}  // namespace drapps::rl
