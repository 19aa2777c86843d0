#include "drapps/rl/offline.h"

#include <algorithm>
#include <cmath>

#include "drapps/base/exact_math.h"

namespace drapps::rl {

template <class T>
void supported(const Heads& heads, const T* likely, const std::uint8_t* mask, double threshold, std::uint8_t* into) {
  for (const Head& head : heads.all()) {
    const Probabilities shares = probabilities(likely, mask, head.size);
    const double most = *std::max_element(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(head.size));
    for (std::size_t i = 0; i < head.size; ++i) into[i] = mask[i] != 0 && shares[i] >= threshold * most ? 1 : 0;
    likely += head.size;
    mask += head.size;
    into += head.size;
  }
}

template <class T>
double offline_critic_loss(const ActionValues& values, const Mlp<T>& critic, const Transitions<T>& batch,
                           std::span<const T> targets, double conservative, std::span<T> gradient,
                           typename Mlp<T>::MlpPass& pass) {
  const std::span<const T> worth = critic.forward(batch.inputs.data(), batch.rows, pass);
  std::vector<T> by_worth(worth.size());
  const double share = 1 / static_cast<double>(batch.rows);
  const std::size_t outputs = values.outputs();
  double loss = 0;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const T* own = worth.data() + row * outputs;
    const T* action = batch.actions.data() + row * values.heads().values();
    const std::uint8_t* mask = batch.masks.data() + row * outputs;
    T* by_own = by_worth.data() + row * outputs;
    const double error = values.of(own, action) - static_cast<double>(targets[row]);
    loss += share * 0.5 * error * error;
    values.add_gradient(action, share * (error - conservative), by_own);
    values.each([&](const Head& head, std::size_t output, std::size_t value, std::size_t at) {
      const Probabilities shares = probabilities(own + at, mask + output, head.size);
      const auto chosen = static_cast<std::size_t>(action[value]);
      loss -= share * conservative * exact::log(std::max(shares[chosen], 1e-300));
      for (std::size_t i = 0; i < head.size; ++i) by_own[at + i] += static_cast<T>(share * conservative * shares[i]);
    });
  }
  critic.backward(by_worth.data(), pass, gradient);
  return loss;
}

template <class T>
double cloning_loss(const Heads& heads, const Mlp<T>& actor, const Transitions<T>& batch, std::span<const T> actions,
                    std::span<const T> weights, std::span<T> gradient, typename Mlp<T>::MlpPass& pass) {
  const std::span<const T> outputs = actor.forward(batch.inputs.data(), batch.rows, pass);
  std::vector<T> by_outputs(outputs.size());
  const double share = 1 / static_cast<double>(batch.rows);
  double loss = 0;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const T* own = outputs.data() + row * heads.outputs();
    const std::uint8_t* mask = batch.masks.data() + row * heads.outputs();
    const T* action = actions.data() + row * heads.values();
    const double weight = share * static_cast<double>(weights[row]);
    loss -= weight * heads.likelihood(own, mask, action).log_prob;
    heads.gradient(own, mask, action, -weight, 0, by_outputs.data() + row * heads.outputs());
  }
  actor.backward(by_outputs.data(), pass, gradient);
  return loss;
}

template <class T>
double advantage_weight(const ActionValues& values, const T* worth, const T* outputs, const std::uint8_t* mask,
                        const T* action, double beta) noexcept {
  double mean = 0;
  values.each([&](const Head& head, std::size_t output, std::size_t, std::size_t at) {
    const Probabilities shares = probabilities(outputs + output, mask + output, head.size);
    for (std::size_t i = 0; i < head.size; ++i) mean += shares[i] * static_cast<double>(worth[at + i]);
  });
  const double advantage = values.of(worth, action) - mean;
  return std::min(exact::exp(std::min(advantage / beta, 20.0)), kMostWeight);
}

#define DRAPPS_OFFLINE_OF(T)                                                                                         \
  template void supported(const Heads&, const T*, const std::uint8_t*, double, std::uint8_t*);                       \
  template double offline_critic_loss(const ActionValues&, const Mlp<T>&, const Transitions<T>&, std::span<const T>, \
                                      double, std::span<T>, Mlp<T>::MlpPass&);                                       \
  template double cloning_loss(const Heads&, const Mlp<T>&, const Transitions<T>&, std::span<const T>,               \
                               std::span<const T>, std::span<T>, Mlp<T>::MlpPass&);                                  \
  template double advantage_weight(const ActionValues&, const T*, const T*, const std::uint8_t*, const T*,           \
                                   double) noexcept;
DRAPPS_OFFLINE_OF(float)
DRAPPS_OFFLINE_OF(double)
#undef DRAPPS_OFFLINE_OF

}  // namespace drapps::rl
