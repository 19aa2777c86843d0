// How much better than expected each action was: generalised advantage estimation.
//
//   delta_t = r_t + gamma v'_t - v_t,    A_t = delta_t + gamma lambda A_{t+1} within an episode.
//
// v'_t is the value of the state that follows. An episode that has reached its end has v' = 0; one that was cut off by
// a time limit would have gone on, and has the value of the state in which it was cut.
//
// Source: J. Schulman et al., "High-dimensional continuous control using generalized advantage estimation", ICLR 2016;
// of limits in time: F. Pardo et al., "Time limits in reinforcement learning", ICML 2018.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace drapps::rl {

/// The advantages of one series of steps, in order.
/// @param next_values  of the states that follow; 0 behind an end.
/// @param ended        1 where an episode ended or was cut off with this step.
template <class T>
void advantages(std::span<const T> rewards, std::span<const T> values, std::span<const T> next_values,
                std::span<const std::uint8_t> ended, double gamma, double lambda, std::span<T> into) noexcept {
  double later = 0;
  for (std::size_t t = rewards.size(); t-- > 0;) {
    const double delta =
        static_cast<double>(rewards[t]) + gamma * static_cast<double>(next_values[t]) - static_cast<double>(values[t]);
    later = delta + (ended[t] != 0 ? 0 : gamma * lambda * later);
    into[t] = static_cast<T>(later);
  }
}

}  // namespace drapps::rl
