#include "drapps/rl/ppo.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "drapps/base/exact_math.h"

namespace drapps::rl {

void gather(const Experience<float>& all, std::span<const std::uint32_t> places, Experience<float>& into) {
  const std::size_t inputs = all.inputs.size() / all.rows;
  const std::size_t outputs = all.masks.size() / all.rows;
  const std::size_t values = all.actions.size() / all.rows;
  into.rows = places.size();
  into.inputs.resize(into.rows * inputs);
  into.masks.resize(into.rows * outputs);
  into.actions.resize(into.rows * values);
  into.log_probs.resize(into.rows);
  into.advantages.resize(into.rows);
  into.returns.resize(into.rows);
  double sum = 0;
  double squares = 0;
  for (std::size_t row = 0; row < into.rows; ++row) {
    const std::size_t from = places[row];
    std::copy_n(all.inputs.data() + from * inputs, inputs, into.inputs.data() + row * inputs);
    std::copy_n(all.masks.data() + from * outputs, outputs, into.masks.data() + row * outputs);
    std::copy_n(all.actions.data() + from * values, values, into.actions.data() + row * values);
    into.log_probs[row] = all.log_probs[from];
    into.returns[row] = all.returns[from];
    into.advantages[row] = all.advantages[from];
    sum += static_cast<double>(all.advantages[from]);
    squares += static_cast<double>(all.advantages[from]) * static_cast<double>(all.advantages[from]);
  }
  const double count = static_cast<double>(into.rows);
  const double mean = sum / count;
  const double deviation = std::sqrt(std::max(0.0, squares / count - mean * mean)) + 1e-8;
  for (float& advantage : into.advantages) {
    advantage = static_cast<float>((static_cast<double>(advantage) - mean) / deviation);
  }
}

double explained_of(const Experience<float>& experience, std::span<const float> values) {
  double sum = 0, squares = 0, error = 0, error_squares = 0;
  for (std::size_t i = 0; i < experience.rows; ++i) {
    const double target = experience.returns[i];
    const double off = target - static_cast<double>(values[i]);
    sum += target;
    squares += target * target;
    error += off;
    error_squares += off * off;
  }
  const auto count = static_cast<double>(experience.rows);
  const double variance = squares / count - sum / count * (sum / count);
  const double left = error_squares / count - error / count * (error / count);
  return variance > 0 ? 1 - left / variance : 0;
}

template <class T>
PpoLosses ppo_losses(const ActorCritic<T>& nets, const Experience<T>& batch, const PpoOptions& options,
                     double entropy_weight, PpoGradients<T>& gradients, const PpoAnchor<T>& anchor) {
  const std::span<const T> outputs = nets.actor.forward(batch.inputs.data(), batch.rows, gradients.actor_pass);
  const std::span<const T> values = nets.critic.forward(batch.inputs.data(), batch.rows, gradients.critic_pass);
  std::span<const T> theirs;
  if (anchor.actor != nullptr) {
    theirs = anchor.actor->forward(batch.inputs.data(), batch.rows, gradients.anchor_pass);
  }
  std::ranges::fill(gradients.actor, T{0});
  std::ranges::fill(gradients.critic, T{0});
  gradients.outputs.resize(outputs.size());
  gradients.values.resize(batch.rows);
  const double share = 1 / static_cast<double>(batch.rows);
  PpoLosses losses;
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const T* own = outputs.data() + row * nets.heads.outputs();
    const std::uint8_t* mask = batch.masks.data() + row * nets.heads.outputs();
    const T* action = batch.actions.data() + row * nets.heads.values();
    const Likelihood now = nets.heads.likelihood(own, mask, action);
    const double log_ratio = std::min(now.log_prob - static_cast<double>(batch.log_probs[row]), 20.0);
    const double ratio = exact::exp(log_ratio);
    const auto advantage = static_cast<double>(batch.advantages[row]);
    const double plain = -ratio * advantage;
    const double clipped = -std::clamp(ratio, 1 - options.clip, 1 + options.clip) * advantage;
    losses.policy += share * std::max(plain, clipped);
    losses.entropy += share * now.entropy;
    losses.divergence += share * (ratio - 1 - log_ratio);
    losses.clipped += std::abs(ratio - 1) > options.clip ? share : 0;
    // The clipped branch is flat where it is not the plain one.
    nets.heads.gradient(own, mask, action, plain >= clipped ? share * plain : 0, -share * entropy_weight,
                        gradients.outputs.data() + row * nets.heads.outputs());
    if (anchor.actor != nullptr) {
      losses.away +=
          share * nets.heads.divergence(theirs.data() + row * nets.heads.outputs(), own, mask, share * anchor.weight,
                                        gradients.outputs.data() + row * nets.heads.outputs());
    }
    const double error = static_cast<double>(values[row]) - static_cast<double>(batch.returns[row]);
    losses.value += share * 0.5 * error * error;
    gradients.values[row] = static_cast<T>(share * options.value * error);
  }
  nets.actor.backward(gradients.outputs.data(), gradients.actor_pass, std::span<T>(gradients.actor));
  nets.critic.backward(gradients.values.data(), gradients.critic_pass, std::span<T>(gradients.critic));
  return losses;
}

template PpoLosses ppo_losses(const ActorCritic<float>&, const Experience<float>&, const PpoOptions&, double,
                              PpoGradients<float>&, const PpoAnchor<float>&);
template PpoLosses ppo_losses(const ActorCritic<double>&, const Experience<double>&, const PpoOptions&, double,
                              PpoGradients<double>&, const PpoAnchor<double>&);

PpoLosses Ppo::update(const Experience<float>& experience, double progress, Random& random) {
  const double left = 1 - std::clamp(progress, 0.0, 1.0);
  const double entropy_weight = options_.last_entropy + left * (options_.entropy - options_.last_entropy);
  std::vector<std::uint32_t> places(experience.rows);
  std::iota(places.begin(), places.end(), 0);
  PpoGradients<float> gradients(nets_);
  Experience<float> batch;
  PpoLosses mean;
  for (std::size_t epoch = 0; epoch < options_.epochs; ++epoch) {
    for (std::size_t i = places.size(); i > 1; --i) {
      std::swap(places[i - 1], places[random.below(static_cast<std::uint32_t>(i))]);
    }
    mean = {};
    for (std::size_t begin = 0; begin < places.size(); begin += options_.minibatch) {
      const std::size_t rows = std::min(options_.minibatch, places.size() - begin);
      gather(experience, std::span(places).subspan(begin, rows), batch);
      const PpoLosses losses = ppo_losses(nets_, batch, options_, entropy_weight, gradients);
      cut_norm(std::span(gradients.actor), options_.norm);
      cut_norm(std::span(gradients.critic), options_.norm);
      actor_steps_.step(nets_.actor.parameters(), gradients.actor, options_.rate * left);
      critic_steps_.step(nets_.critic.parameters(), gradients.critic, options_.rate * left);
      const double share = static_cast<double>(rows) / static_cast<double>(places.size());
      mean.add(losses, share);
    }
    if (mean.divergence > options_.target_divergence) break;
  }
  return mean;
}

}  // namespace drapps::rl
