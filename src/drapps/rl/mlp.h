// A network of dense layers with tanh between them, and its gradients by hand.
//
//   Mlp<float> net({inputs, 64, 64, outputs});
//   net.begin(random, 0.01);
//   const std::span<const float> given = net.forward(batch, rows, pass);
//   net.backward(of_outputs, pass, gradient);
//
// Parameters are one array: of each layer its weights, [in, out] by rows, and its biases. Rows of a batch are rows of
// matrices. With y = x W + b and h = tanh(y): dW = x' dy, db = the sum of the rows of dy, dx = dy W', dy = dh (1 - h²).
#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "drapps/rl/matrix.h"
#include "drapps/rl/random.h"

namespace drapps::rl {

/// Most inputs, hidden units or outputs of a network that a policy runs.
inline constexpr std::size_t kMostWidth = 512;

template <class T>
class Mlp {
 public:
  /// What a batch has left in the layers, and memory that is used again.
  struct MlpPass {
    std::size_t rows = 0;
    std::vector<std::vector<T>> layers{};  // what each layer takes, and last what the network gives
    std::vector<T> transposed{}, upper{}, lower{};
  };

  Mlp() = default;
  /// @param sizes  of the input, of hidden layers, and of the output. All parameters are 0.
  explicit Mlp(std::vector<std::size_t> sizes) : sizes_(std::move(sizes)) {
    assert(sizes_.size() >= 2);
    std::size_t count = 0;
    for (std::size_t i = 0; i + 1 < sizes_.size(); ++i) count += (sizes_[i] + 1) * sizes_[i + 1];
    parameters_.assign(count, T{0});
  }

  const std::vector<std::size_t>& sizes() const noexcept { return sizes_; }
  std::size_t inputs() const noexcept { return sizes_.front(); }
  std::size_t outputs() const noexcept { return sizes_.back(); }
  std::span<T> parameters() noexcept { return parameters_; }
  std::span<const T> parameters() const noexcept { return parameters_; }

  /// Weights with orthogonal rows or columns, of gain √2 and in the last layer `last`; biases 0.
  /// Source: A. M. Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear neural networks",
  /// ICLR 2014.
  void begin(Random& random, double last) {
    T* at = parameters_.data();
    for (std::size_t i = 0; i + 1 < sizes_.size(); ++i) {
      const double gain = i + 2 == sizes_.size() ? last : std::sqrt(2.0);
      orthogonal(at, sizes_[i], sizes_[i + 1], gain, random);
      at += sizes_[i] * sizes_[i + 1];
      std::fill_n(at, sizes_[i + 1], T{0});
      at += sizes_[i + 1];
    }
  }

  /// Outputs of [rows, inputs]; they stay in `pass` until its next use.
  std::span<const T> forward(const T* inputs, std::size_t rows, MlpPass& pass) const {
    pass.rows = rows;
    pass.layers.resize(sizes_.size());
    pass.layers[0].assign(inputs, inputs + rows * sizes_[0]);
    const T* at = parameters_.data();
    for (std::size_t i = 0; i + 1 < sizes_.size(); ++i) {
      pass.layers[i + 1].resize(rows * sizes_[i + 1]);
      at = layer(i, at, pass.layers[i].data(), pass.layers[i + 1].data(), rows);
    }
    return pass.layers.back();
  }

  /// Outputs of one row, without memory of its own: `scratch` holds 2 kMostWidth values, of which the outputs are
  /// some. Each is the same to the last bit as forward() has it.
  std::span<const T> forward_one(const T* inputs, std::span<T> scratch) const noexcept {
    assert(scratch.size() >= 2 * kMostWidth);
    const T* at = parameters_.data();
    const T* from = inputs;
    T* to = scratch.data();
    for (std::size_t i = 0; i + 1 < sizes_.size(); ++i) {
      to = scratch.data() + (i % 2) * kMostWidth;
      at = layer(i, at, from, to, 1);
      from = to;
    }
    return {to, sizes_.back()};
  }

  /// Adds the gradient of a loss to `gradient`, where that of the outputs of the last forward() is [rows, outputs].
  /// @param gradient   of the parameters; empty where nobody wants it.
  /// @param of_inputs  that of the inputs is written there, [rows, inputs]; null where nobody wants it.
  void backward(const T* of_outputs, MlpPass& pass, std::span<T> gradient, T* of_inputs = nullptr) const {
    assert(gradient.empty() || gradient.size() == parameters_.size());
    const std::size_t rows = pass.rows;
    pass.upper.assign(of_outputs, of_outputs + rows * sizes_.back());
    std::size_t end = parameters_.size();
    for (std::size_t i = sizes_.size() - 1; i-- > 0;) {
      const std::size_t in = sizes_[i];
      const std::size_t out = sizes_[i + 1];
      const std::vector<T>& taken = pass.layers[i];
      if (!gradient.empty()) {
        T* biases = gradient.data() + end - out;
        T* weights = biases - in * out;
        for (std::size_t row = 0; row < rows; ++row) {
          for (std::size_t j = 0; j < out; ++j) biases[j] += pass.upper[row * out + j];
        }
        add_product(Factor<T>{taken.data(), 1, static_cast<std::ptrdiff_t>(in)}, pass.upper.data(), weights, in, rows,
                    out);
      }
      end -= (in + 1) * out;
      if (i == 0 && of_inputs == nullptr) return;
      const T* own = parameters_.data() + end;
      pass.transposed.resize(in * out);
      for (std::size_t k = 0; k < in; ++k) {
        for (std::size_t j = 0; j < out; ++j) pass.transposed[j * in + k] = own[k * out + j];
      }
      pass.lower.assign(rows * in, T{0});
      add_product(Factor<T>{pass.upper.data(), static_cast<std::ptrdiff_t>(out), 1}, pass.transposed.data(),
                  pass.lower.data(), rows, out, in);
      if (i == 0) {
        std::ranges::copy(pass.lower, of_inputs);
        return;
      }
      for (std::size_t at = 0; at < rows * in; ++at) pass.lower[at] *= T{1} - taken[at] * taken[at];
      std::swap(pass.upper, pass.lower);
    }
  }

 private:
  /// The layer's outputs; gives the parameters of the next one.
  const T* layer(std::size_t i, const T* parameters, const T* from, T* to, std::size_t rows) const noexcept {
    const std::size_t in = sizes_[i];
    const std::size_t out = sizes_[i + 1];
    const T* biases = parameters + in * out;
    for (std::size_t row = 0; row < rows; ++row) std::copy_n(biases, out, to + row * out);
    add_product(Factor<T>{from, static_cast<std::ptrdiff_t>(in), 1}, parameters, to, rows, in, out);
    if (i + 2 < sizes_.size()) tanh_all(to, rows * out);
    return biases + out;
  }

  /// Modified Gram-Schmidt on normal deviates, over rows or columns, whichever are fewer.
  static void orthogonal(T* weights, std::size_t in, std::size_t out, double gain, Random& random) {
    const bool by_rows = in <= out;
    const std::size_t count = by_rows ? in : out;
    const std::size_t length = by_rows ? out : in;
    std::vector<std::vector<double>> vectors(count, std::vector<double>(length));
    for (std::size_t i = 0; i < count; ++i) {
      for (double& value : vectors[i]) value = random.normal();
      for (std::size_t before = 0; before < i; ++before) {
        double dot = 0;
        for (std::size_t k = 0; k < length; ++k) dot += vectors[i][k] * vectors[before][k];
        for (std::size_t k = 0; k < length; ++k) vectors[i][k] -= dot * vectors[before][k];
      }
      double squares = 0;
      for (const double value : vectors[i]) squares += value * value;
      for (double& value : vectors[i]) value /= std::sqrt(squares);
    }
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t k = 0; k < length; ++k) {
        weights[by_rows ? i * out + k : k * out + i] = static_cast<T>(gain * vectors[i][k]);
      }
    }
  }

  std::vector<std::size_t> sizes_;
  std::vector<T> parameters_;
};

}  // namespace drapps::rl
