#include "drapps/rl/learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "drapps/rl/checkpoint.h"
#include "drapps/rl/gae.h"

namespace drapps::rl {
namespace {

constexpr double kMostReward = 10;

ActorCritic<float> nets_of(const LearnerOptions& options, const Environment& environment, Random& random) {
  ActorCritic<float> nets(environment.heads(), environment.inputs(), options.hidden);
  nets.actor.begin(random, 0.01);
  nets.critic.begin(random, 1);
  return nets;
}

}  // namespace

Learner::Learner(const LearnerOptions& options, const Make& make)
    : options_(options), random_(options.seed, 1), ppo_(nets_of(options, *make(), random_), options.ppo) {
  places_.resize(options.environments);
  for (EnvironmentPlace& place : places_) {
    place.episode.environment = make();
    place.episode.begin(random_);
  }
}

/// The reward in the scale of the discounted sums, whose moments are Welford's.
float Learner::scaled(double reward, EnvironmentPlace& place) noexcept {
  place.discounted = place.discounted * options_.ppo.gamma + reward;
  ++counted_;
  const double off = place.discounted - mean_;
  mean_ += off / static_cast<double>(counted_);
  squares_ += off * (place.discounted - mean_);
  const double deviation = std::sqrt(squares_ / static_cast<double>(counted_)) + 1e-8;
  return static_cast<float>(std::clamp(counted_ > 1 ? reward / deviation : reward, -kMostReward, kMostReward));
}

Progress Learner::go_on() {
  const ActorCritic<float>& nets = ppo_.nets();
  const std::size_t count = places_.size();
  const std::size_t rows = count * options_.steps;
  const std::size_t inputs = nets.actor.inputs();
  const std::size_t outputs = nets.heads.outputs();
  const std::size_t values = nets.heads.values();
  // Rows are in the order of environments, and of time within each.
  Experience<float> done{.rows = rows};
  done.inputs.resize(rows * inputs);
  done.masks.resize(rows * outputs);
  done.actions.resize(rows * values);
  done.log_probs.resize(rows);
  done.advantages.resize(rows);
  done.returns.resize(rows);
  std::vector<float> rewards(rows), worth(rows), next_worth(rows);
  std::vector<std::uint8_t> ended(rows), masks(count * outputs);
  std::vector<float> seen(count * inputs);
  Mlp<float>::MlpPass actor_pass, critic_pass, last_pass;
  Progress progress;
  double sums = 0;

  for (std::size_t t = 0; t <= options_.steps; ++t) {
    for (std::size_t i = 0; i < count; ++i) {
      places_[i].episode.environment->look(seen.data() + i * inputs, masks.data() + i * outputs);
    }
    const std::span<const float> critic = nets.critic.forward(seen.data(), count, critic_pass);
    if (t > 0) {
      for (std::size_t i = 0; i < count; ++i) {
        const std::size_t before = i * options_.steps + t - 1;
        if (ended[before] == 0) next_worth[before] = critic[i];
      }
    }
    if (t == options_.steps) break;
    const std::span<const float> logits = nets.actor.forward(seen.data(), count, actor_pass);
    for (std::size_t i = 0; i < count; ++i) {
      EnvironmentPlace& place = places_[i];
      const std::size_t row = i * options_.steps + t;
      float* action = done.actions.data() + row * values;
      const std::uint8_t* mask = masks.data() + i * outputs;
      const float* own = logits.data() + i * outputs;
      std::copy_n(seen.data() + i * inputs, inputs, done.inputs.data() + row * inputs);
      std::copy_n(mask, outputs, done.masks.data() + row * outputs);
      nets.heads.sample(own, mask, random_, action);
      done.log_probs[row] = static_cast<float>(nets.heads.likelihood(own, mask, action).log_prob);
      worth[row] = critic[i];
      const Outcome outcome = place.episode.step(action, values);
      rewards[row] = scaled(outcome.reward, place);
      if (!outcome.ended && !outcome.cut) continue;
      ended[row] = 1;
      if (!outcome.ended) {
        std::vector<float> last(inputs);
        std::vector<std::uint8_t> last_mask(outputs);
        place.episode.environment->look(last.data(), last_mask.data());
        next_worth[row] = nets.critic.forward(last.data(), 1, last_pass)[0];
      }
      ++progress.episodes;
      sums += place.episode.sum;
      place.discounted = 0;
      place.episode.begin(random_);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const auto own = [&](auto& numbers) { return std::span(numbers).subspan(i * options_.steps, options_.steps); };
    advantages<float>(own(rewards), own(worth), own(next_worth), own(ended), options_.ppo.gamma, options_.ppo.lambda,
                      own(done.advantages));
  }
  for (std::size_t row = 0; row < rows; ++row) done.returns[row] = done.advantages[row] + worth[row];

  const double passed =
      static_cast<double>(decisions_) / static_cast<double>(std::max<std::uint64_t>(options_.decisions, 1));
  progress.explained = explained_of(done, worth);
  const PpoLosses losses = ppo_.update(done, passed, random_);
  progress.policy = losses.policy;
  progress.value = losses.value;
  progress.entropy = losses.entropy;
  progress.divergence = losses.divergence;
  progress.clipped = losses.clipped;
  decisions_ += rows;
  progress.decisions = decisions_;
  if (progress.episodes > 0) progress.reward = sums / static_cast<double>(progress.episodes);
  return progress;
}

template <class Visit>
void Learner::visit_memory(const Visit& visit) {
  visit(decisions_);
  visit(drawn_);
  visit(counted_);
  visit(mean_);
  visit(squares_);
  ppo_.visit_memory(visit);
  for (EnvironmentPlace& place : places_) {
    place.episode.visit_memory(visit);
    visit(place.discounted);
  }
}

std::vector<std::uint8_t> Learner::save() {
  ByteWriter writer;
  drawn_ = random_.drawn();
  visit_memory(writer);
  return writer.take();
}

Status Learner::restore(std::span<const std::uint8_t> saved) {
  const ByteReader reader(saved);
  visit_memory(reader);
  if (!reader.good()) return no_such_checkpoint();
  random_.seek(drawn_);
  for (EnvironmentPlace& place : places_) DRAPPS_RETURN_IF_ERROR(place.episode.resume(ppo_.nets().heads.values()));
  return ok_status();
}

}  // namespace drapps::rl
