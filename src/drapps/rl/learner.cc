#include "drapps/rl/learner.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

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

class Writer {
 public:
  template <class Number>
  void operator()(const Number& number) const {
    put(&number, sizeof number);
  }
  void operator()(std::span<float> numbers) const { put(numbers.data(), numbers.size_bytes()); }
  void operator()(const std::vector<float>& numbers) const {
    (*this)(std::uint64_t{numbers.size()});
    put(numbers.data(), numbers.size() * sizeof(float));
  }
  std::vector<std::uint8_t> take() { return std::move(bytes_); }

 private:
  void put(const void* from, std::size_t size) const {
    const auto* at = static_cast<const std::uint8_t*>(from);
    bytes_.insert(bytes_.end(), at, at + size);
  }
  mutable std::vector<std::uint8_t> bytes_;
};

class Reader {
 public:
  explicit Reader(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  template <class Number>
  void operator()(Number& number) const {
    get(&number, sizeof number);
  }
  void operator()(std::span<float> numbers) const { get(numbers.data(), numbers.size_bytes()); }
  void operator()(std::vector<float>& numbers) const {
    std::uint64_t count = 0;
    (*this)(count);
    good_ = good_ && count <= bytes_.size() / sizeof(float);
    numbers.resize(good_ ? count : 0);
    get(numbers.data(), numbers.size() * sizeof(float));
  }
  /// All of it was read, and nothing more.
  bool good() const noexcept { return good_ && bytes_.empty(); }

 private:
  void get(void* into, std::size_t size) const {
    good_ = good_ && size <= bytes_.size();
    if (!good_ || size == 0) return;
    std::memcpy(into, bytes_.data(), size);
    bytes_ = bytes_.subspan(size);
  }
  mutable std::span<const std::uint8_t> bytes_;
  mutable bool good_ = true;
};

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

}  // namespace

Learner::Learner(const LearnerOptions& options, const Make& make)
    : options_(options), random_(options.seed, 1), ppo_(nets_of(options, *make(), random_), options.ppo) {
  places_.resize(options.environments);
  for (Place& place : places_) {
    place.environment = make();
    begin(place);
  }
}

void Learner::begin(Place& place) {
  place.episode = std::uint64_t{random_.u32()} << 32 | random_.u32();
  place.actions.clear();
  place.sum = 0;
  place.environment->begin(place.episode);
}

/// Welford's moments of the discounted sums, from which its scale comes.
float Learner::scaled(double reward, Place& place) noexcept {
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
  Mlp<float>::Pass actor_pass, critic_pass, last_pass;
  Progress progress;
  double sums = 0;

  for (std::size_t t = 0; t <= options_.steps; ++t) {
    for (std::size_t i = 0; i < count; ++i) {
      places_[i].environment->look(seen.data() + i * inputs, masks.data() + i * outputs);
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
      Place& place = places_[i];
      const std::size_t row = i * options_.steps + t;
      float* action = done.actions.data() + row * values;
      const std::uint8_t* mask = masks.data() + i * outputs;
      const float* own = logits.data() + i * outputs;
      std::copy_n(seen.data() + i * inputs, inputs, done.inputs.data() + row * inputs);
      std::copy_n(mask, outputs, done.masks.data() + row * outputs);
      nets.heads.sample(own, mask, random_, action);
      done.log_probs[row] = static_cast<float>(nets.heads.likelihood(own, mask, action).log_prob);
      worth[row] = critic[i];
      const Outcome outcome = place.environment->step(action);
      place.actions.insert(place.actions.end(), action, action + values);
      place.sum += outcome.reward;
      rewards[row] = scaled(outcome.reward, place);
      if (!outcome.ended && !outcome.cut) continue;
      ended[row] = 1;
      if (!outcome.ended) {
        std::vector<float> last(inputs);
        std::vector<std::uint8_t> last_mask(outputs);
        place.environment->look(last.data(), last_mask.data());
        next_worth[row] = nets.critic.forward(last.data(), 1, last_pass)[0];
      }
      ++progress.episodes;
      sums += place.sum;
      place.discounted = 0;
      begin(place);
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
  progress.losses = ppo_.update(done, passed, random_);
  decisions_ += rows;
  progress.decisions = decisions_;
  progress.reward =
      progress.episodes > 0 ? sums / static_cast<double>(progress.episodes) : std::numeric_limits<double>::quiet_NaN();
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
  for (Place& place : places_) {
    visit(place.episode);
    visit(place.sum);
    visit(place.discounted);
    visit(place.actions);
  }
}

std::vector<std::uint8_t> Learner::save() {
  Writer writer;
  drawn_ = random_.drawn();
  visit_memory(writer);
  return writer.take();
}

Status Learner::restore(std::span<const std::uint8_t> saved) {
  const Reader reader(saved);
  visit_memory(reader);
  const std::size_t values = ppo_.nets().heads.values();
  const bool fits = reader.good() && std::ranges::all_of(places_, [&](const Place& place) {
                      return place.actions.size() % values == 0;
                    });
  if (!fits) {
    return Error{.code = ErrorCode::kCorrupt, .message = "this is no checkpoint of such a training"};
  }
  random_.seek(drawn_);
  for (Place& place : places_) {
    place.environment->begin(place.episode);
    for (std::size_t at = 0; at < place.actions.size(); at += values) {
      const Outcome outcome = place.environment->step(place.actions.data() + at);
      if (outcome.ended || outcome.cut)
        return Error{.code = ErrorCode::kCorrupt,
                     .message = "an episode of this checkpoint ends before its last action"};
    }
  }
  return ok_status();
}

}  // namespace drapps::rl
