// What an action under several heads is worth: the sum of what each choice is worth given the state and the shares.
//
//   Q(s, (c, x)) = Σ_h q_h(s, x)[c_h]
//
// A critic takes the state and the shares x of an action, and gives a number for every choice of every head; where
// there are no choices it gives one. So the mean of Q over choices that are drawn independently is a sum over heads,
// and so is the best of them.
//
// Source: A. Tavakoli, F. Pardo, P. Kormushev, "Action branching architectures for deep reinforcement learning", AAAI
// 2018; of sums: P. Sunehag et al., "Value-decomposition networks for cooperative multi-agent learning", AAMAS 2018.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "drapps/rl/heads.h"

namespace drapps::rl {

class ActionValues {
 public:
  explicit ActionValues(Heads heads) : heads_(std::move(heads)) {
    for (const Head& head : heads_.all()) {
      (head.kind == HeadKind::kChoice ? choices_ : shares_) +=
          head.kind == HeadKind::kChoice ? head.size : head.values();
    }
  }

  const Heads& heads() const noexcept { return heads_; }
  /// Numbers of an action that a critic takes beside the state.
  std::size_t shares() const noexcept { return shares_; }
  /// Numbers that a critic gives.
  std::size_t outputs() const noexcept { return choices_ == 0 ? 1 : choices_; }

  /// Calls visit(head, place in the heads' outputs, place in an action, place in the critic's outputs).
  template <class Visit>
  void each(const Visit& visit) const {
    std::size_t output = 0, value = 0, worth = 0;
    for (const Head& head : heads_.all()) {
      visit(head, output, value, worth);
      output += head.outputs();
      value += head.values();
      if (head.kind == HeadKind::kChoice) worth += head.size;
    }
  }

  /// Q of an action, given what a critic gives.
  template <class T>
  double of(const T* worth, const T* action) const noexcept {
    if (choices_ == 0) return static_cast<double>(worth[0]);
    double sum = 0;
    each([&](const Head& head, std::size_t, std::size_t value, std::size_t at) {
      if (head.kind == HeadKind::kChoice) {
        sum += static_cast<double>(worth[at + static_cast<std::size_t>(action[value])]);
      }
    });
    return sum;
  }

  /// Adds `by` times the gradient of what of() gives.
  template <class T>
  void add_gradient(const T* action, double by, T* of_worth) const noexcept {
    if (choices_ == 0) {
      of_worth[0] += static_cast<T>(by);
      return;
    }
    each([&](const Head& head, std::size_t, std::size_t value, std::size_t at) {
      if (head.kind == HeadKind::kChoice) {
        of_worth[at + static_cast<std::size_t>(action[value])] += static_cast<T>(by);
      }
    });
  }

 private:
  Heads heads_;
  std::size_t choices_ = 0, shares_ = 0;
};

}  // namespace drapps::rl
