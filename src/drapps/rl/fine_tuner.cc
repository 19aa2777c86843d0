#include "drapps/rl/fine_tuner.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "drapps/rl/gae.h"

namespace drapps::rl {
namespace {

constexpr double kRewardClip = 10;

ActorCritic<float> nets_of(Heads heads, Mlp<float> actor, std::size_t hidden, Random& random) {
  ActorCritic<float> nets(std::move(heads), actor.inputs(), hidden);
  nets.actor = std::move(actor);
  nets.critic.begin(random, 0.01);
  return nets;
}

}  // namespace

FineTuneOptions plain_ppo() {
  FineTuneOptions options{.anchor = 0, .least_explained = -std::numeric_limits<double>::infinity()};
  options.ppo = {.rate = 3e-4, .entropy = 0.001, .last_entropy = 0.001, .minibatch = 32};
  options.last_layer = false;
  return options;
}

FineTuner::FineTuner(Heads heads, Mlp<float> actor, const FineTuneOptions& options)
    : options_(options),
      nets_([&] {
        Random random(options.seed, 4);
        return nets_of(std::move(heads), std::move(actor), options.hidden, random);
      }()),
      anchor_(nets_.actor),
      actor_steps_(nets_.actor.parameters().size()),
      critic_steps_(nets_.critic.parameters().size()),
      random_(options.seed, 5),
      gradients_(nets_) {}

void FineTuner::set_actor(std::span<const float> parameters) {
  assert(parameters.size() == nets_.actor.parameters().size());
  std::ranges::copy(parameters, nets_.actor.parameters().begin());
  actor_steps_ = Adam<float>(parameters.size());
  busy_ = false;
}

void FineTuner::begin(const Transitions<float>& steps) {
  assert(!busy_ && steps.rows > 0);
  steps_ = steps;
  busy_ = true;
  taken_in_ = false;
}

/// What was done as PPO takes it: rewards in their own scale, what the critic expected, advantages, and how likely each
/// action was.
void FineTuner::take_in() {
  const std::size_t rows = steps_.rows;
  for (float& reward : steps_.rewards) {
    ++counted_;
    const double off = static_cast<double>(reward) - mean_;
    mean_ += off / static_cast<double>(counted_);
    squares_ += off * (static_cast<double>(reward) - mean_);
  }
  const double deviation = std::sqrt(squares_ / static_cast<double>(counted_)) + 1e-6;
  for (float& reward : steps_.rewards) {
    const double scaled = (static_cast<double>(reward) - mean_) / deviation;
    reward = static_cast<float>((1 - options_.ppo.gamma) * std::clamp(scaled, -kRewardClip, kRewardClip));
  }
  const auto worth_of = [&](const std::vector<float>& inputs) {
    const std::span<const float> worth = nets_.critic.forward(inputs.data(), rows, gradients_.critic_pass);
    return std::vector<float>(worth.begin(), worth.end());
  };
  const std::vector<float> worth = worth_of(steps_.inputs);
  const std::vector<float> next = worth_of(steps_.next_inputs);
  done_ = {.rows = rows, .inputs = steps_.inputs, .masks = steps_.masks, .actions = steps_.actions};
  done_.advantages.resize(rows);
  advantages<float>(steps_.rewards, worth, next, steps_.ended, options_.ppo.gamma, options_.ppo.lambda,
                    done_.advantages);
  done_.returns.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) done_.returns[row] = done_.advantages[row] + worth[row];

  const std::span<const float> outputs = nets_.actor.forward(steps_.inputs.data(), rows, gradients_.actor_pass);
  done_.log_probs.resize(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const float* own = outputs.data() + row * nets_.heads.outputs();
    const std::uint8_t* mask = steps_.masks.data() + row * nets_.heads.outputs();
    const float* action = steps_.actions.data() + row * nets_.heads.values();
    done_.log_probs[row] = static_cast<float>(nets_.heads.likelihood(own, mask, action).log_prob);
  }
  tuned_ = {.explained = explained_of(done_, worth)};
  tuned_.acted = tuned_.explained >= options_.least_explained;
  places_.resize(rows);
  std::iota(places_.begin(), places_.end(), 0);
  epoch_ = at_ = 0;
  taken_in_ = true;
}

/// From one minibatch.
void FineTuner::learn() {
  if (at_ == 0) {
    mean_losses_ = {};
    for (std::size_t i = places_.size(); i > 1; --i) {
      std::swap(places_[i - 1], places_[random_.below(static_cast<std::uint32_t>(i))]);
    }
  }
  const PpoOptions& ppo = options_.ppo;
  const std::size_t rows = std::min(ppo.minibatch, places_.size() - at_);
  gather(done_, std::span(places_).subspan(at_, rows), batch_);
  const PpoAnchor<float> anchor{options_.anchor > 0 ? &anchor_ : nullptr, options_.anchor};
  const PpoLosses losses = ppo_losses(nets_, batch_, ppo, ppo.entropy, gradients_, anchor);
  cut_norm(std::span(gradients_.critic), ppo.norm);
  critic_steps_.step(nets_.critic.parameters(), gradients_.critic, options_.critic_rate);
  if (tuned_.acted) {
    if (options_.last_layer) {
      const std::vector<std::size_t>& sizes = nets_.actor.sizes();
      const std::size_t last = (sizes[sizes.size() - 2] + 1) * sizes.back();
      std::fill(gradients_.actor.begin(), gradients_.actor.end() - static_cast<std::ptrdiff_t>(last), 0.0F);
    }
    cut_norm(std::span(gradients_.actor), ppo.norm);
    actor_steps_.step(nets_.actor.parameters(), gradients_.actor, ppo.rate);
  }
  const double share = static_cast<double>(rows) / static_cast<double>(places_.size());
  mean_losses_.add(losses, share);
  at_ += rows;
}

std::optional<FineTuned> FineTuner::go_on() {
  assert(busy_);
  if (!taken_in_) {
    take_in();
    return std::nullopt;
  }
  learn();
  if (at_ < places_.size()) return std::nullopt;
  at_ = 0;
  ++epoch_;
  tuned_.losses = mean_losses_;
  if (epoch_ < options_.ppo.epochs && mean_losses_.divergence <= options_.ppo.target_divergence) return std::nullopt;
  busy_ = false;
  return tuned_;
}

}  // namespace drapps::rl
