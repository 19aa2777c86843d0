// Shares that are a function of outputs and of noise, so that what they come to may be differentiated by the outputs
// with the noise held.
//
// - kNormal: logistic(m + σ ε). Its entropy is -ln π(x), as drawn.
// - kBeta and kDirichlet: g_i / Σ g, with g_i the number below which a gamma distribution of shape α_i has Φ(ε_i). By α
//   it changes with -(∂F/∂α) / (∂F/∂g), F the distribution function. The entropy is that of the formula.
//
// Source: M. Figurnov, S. Mohamed, A. Mnih, "Implicit reparameterization gradients", NeurIPS 2018.
#pragma once

#include <cstddef>

#include "drapps/rl/heads.h"

namespace drapps::rl {

/// How far the entropy that soft actor-critic wants of a head's shares lies above that of uniformly drawn ones, for
/// each share that is free; negative: below.
inline constexpr double kShareEntropy = -1.7;

class ShareHead {
 public:
  /// @param head  of any kind but kChoice.
  explicit ShareHead(const Head& head) : head_(head), alone_({head}) {}

  const Head& head() const noexcept { return head_; }
  /// Standard normal numbers that a draw takes.
  std::size_t noises() const noexcept { return head_.kind == HeadKind::kNormal ? 1 : head_.size; }
  /// The entropy that is wanted.
  double wanted() const noexcept;

  /// Writes head().values() shares, and returns the entropy.
  template <class T>
  double draw(const T* outputs, const T* noise, T* shares) const noexcept;

  /// Writes the gradient of a loss with respect to the outputs, given its derivatives by the shares and by the entropy.
  template <class T>
  void gradient(const T* outputs, const T* noise, const double* by_shares, double by_entropy,
                T* of_outputs) const noexcept;

 private:
  Head head_;
  Heads alone_;
};

}  // namespace drapps::rl
