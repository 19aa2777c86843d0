// Steps along a gradient, each parameter's scaled by what its gradients have been.
//
// Source: D. P. Kingma, J. Ba, "Adam: a method for stochastic optimization", ICLR 2015, algorithm 1.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace drapps::rl {

template <class T>
class Adam {
 public:
  static constexpr double kFirst = 0.9, kSecond = 0.999, kEpsilon = 1e-5;

  explicit Adam(std::size_t count = 0) : first_(count), second_(count) {}

  void step(std::span<T> parameters, std::span<const T> gradient, double rate) noexcept {
    ++steps_;
    const double scale = std::sqrt(1 - std::pow(kSecond, static_cast<double>(steps_)));
    const T step = static_cast<T>(rate * scale / (1 - std::pow(kFirst, static_cast<double>(steps_))));
    const T epsilon = static_cast<T>(kEpsilon * scale);
    constexpr T kKept = static_cast<T>(kFirst), kKeptSquare = static_cast<T>(kSecond);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      first_[i] = kKept * first_[i] + (T{1} - kKept) * gradient[i];
      second_[i] = kKeptSquare * second_[i] + (T{1} - kKeptSquare) * gradient[i] * gradient[i];
      parameters[i] -= step * first_[i] / (std::sqrt(second_[i]) + epsilon);
    }
  }

  // What a checkpoint keeps.
  std::uint64_t& steps() noexcept { return steps_; }
  std::vector<T>& first() noexcept { return first_; }
  std::vector<T>& second() noexcept { return second_; }

 private:
  std::uint64_t steps_ = 0;
  std::vector<T> first_, second_;
};

/// Scales a gradient so that its Euclidean norm is at most `most`; gives what it was.
template <class T>
double cut_norm(std::span<T> gradient, double most) noexcept {
  double squares = 0;
  for (const T value : gradient) squares += static_cast<double>(value) * static_cast<double>(value);
  const double norm = std::sqrt(squares);
  if (norm > most) {
    const T factor = static_cast<T>(most / norm);
    for (T& value : gradient) value *= factor;
  }
  return norm;
}

}  // namespace drapps::rl
