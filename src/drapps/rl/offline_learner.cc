#include "drapps/rl/offline_learner.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <utility>

#include "drapps/rl/checkpoint.h"
#include "drapps/rl/running_episode.h"

namespace drapps::rl {
namespace {

constexpr std::array<std::pair<std::string_view, OfflineKind>, 4> kKinds{{{"cloning", OfflineKind::kCloning},
                                                                          {"awac", OfflineKind::kAdvantage},
                                                                          {"cql", OfflineKind::kCql},
                                                                          {"bcq", OfflineKind::kBcq}}};

}  // namespace

std::optional<OfflineKind> offline_kind_named(std::string_view name) noexcept {
  for (const auto& [known, kind] : kKinds) {
    if (known == name) return kind;
  }
  return std::nullopt;
}

std::string_view name_of(OfflineKind kind) noexcept {
  return std::ranges::find(kKinds, kind, [](const auto& each) { return each.second; })->first;
}

OfflineLearner::OfflineLearner(const OfflineOptions& options, const Heads& heads, Transitions<float> data)
    : options_(options), random_(options.seed, 1), values_(heads), data_(std::move(data)) {
  assert(values_.shares() == 0 && data_.rows > 0);
  const std::size_t inputs = data_.inputs.size() / data_.rows;
  critic_ = Mlp<float>({inputs, options.hidden, options.hidden, heads.outputs()});
  actor_ = clone_ = critic_;
  critic_.begin(random_, 0.01);
  actor_.begin(random_, 0.01);
  clone_.begin(random_, 0.01);
  slow_ = critic_;
  critic_steps_ = actor_steps_ = clone_steps_ = Adam<float>(critic_.parameters().size());
}

std::vector<float> OfflineLearner::targets_of(const Transitions<float>& batch) {
  const std::size_t outputs = heads().outputs();
  const std::span<const float> slow = slow_.forward(batch.next_inputs.data(), batch.rows, slow_pass_);
  const bool averaged = options_.kind == OfflineKind::kAdvantage;
  const std::span<const float> chosen_by =
      (averaged ? actor_ : critic_).forward(batch.next_inputs.data(), batch.rows, next_pass_);
  std::span<const float> likely;
  if (options_.kind == OfflineKind::kBcq) {
    likely = clone_.forward(batch.next_inputs.data(), batch.rows, clone_pass_);
  }
  std::vector<float> targets(batch.rows), action(heads().values());
  std::vector<std::uint8_t> allowed(outputs);
  for (std::size_t row = 0; row < batch.rows; ++row) {
    const float* by = chosen_by.data() + row * outputs;
    const float* worth = slow.data() + row * outputs;
    const std::uint8_t* mask = batch.next_masks.data() + row * outputs;
    double later = 0;
    if (batch.ended[row] == 0 && averaged) {
      values_.each([&](const Head& head, std::size_t output, std::size_t, std::size_t) {
        const Probabilities shares = probabilities(by + output, mask + output, head.size);
        for (std::size_t i = 0; i < head.size; ++i) later += shares[i] * static_cast<double>(worth[output + i]);
      });
    } else if (batch.ended[row] == 0) {
      if (!likely.empty()) {
        supported(heads(), likely.data() + row * outputs, mask, options_.threshold, allowed.data());
        mask = allowed.data();
      }
      heads().mode(by, mask, action.data());
      later = values_.of(worth, action.data());
    }
    targets[row] = static_cast<float>(static_cast<double>(batch.rewards[row]) + options_.gamma * later);
  }
  return targets;
}

void OfflineLearner::learn_clone(Mlp<float>& net, Adam<float>& adam, const Transitions<float>& batch,
                                 std::span<const float> actions, std::span<const float> weights, double& loss) {
  gradient_.assign(net.parameters().size(), 0);
  loss = cloning_loss<float>(heads(), net, batch, actions, weights, gradient_, pass_);
  cut_norm(std::span(gradient_), options_.norm);
  adam.step(net.parameters(), gradient_, options_.rate);
}

OfflineLearner::Losses OfflineLearner::update(const Transitions<float>& batch) {
  Losses losses;
  std::vector<float> weights(batch.rows, 1);
  if (options_.kind == OfflineKind::kCloning) {
    learn_clone(actor_, actor_steps_, batch, batch.actions, weights, losses.actor);
    return losses;
  }
  const std::size_t outputs = heads().outputs();
  const std::vector<float> targets = targets_of(batch);
  gradient_.assign(critic_.parameters().size(), 0);
  losses.critic =
      offline_critic_loss<float>(values_, critic_, batch, targets,
                                 options_.kind == OfflineKind::kCql ? options_.conservative : 0, gradient_, pass_);
  cut_norm(std::span(gradient_), options_.norm);
  critic_steps_.step(critic_.parameters(), gradient_, options_.rate);
  const std::span<const float> fast = std::as_const(critic_).parameters();
  for (std::size_t k = 0; k < fast.size(); ++k) {
    slow_.parameters()[k] += static_cast<float>(options_.follow) * (fast[k] - slow_.parameters()[k]);
  }
  if (options_.kind == OfflineKind::kCql) return losses;
  const std::span<const float> worth = critic_.forward(batch.inputs.data(), batch.rows, next_pass_);
  if (options_.kind == OfflineKind::kAdvantage) {
    const std::span<const float> own = actor_.forward(batch.inputs.data(), batch.rows, slow_pass_);
    for (std::size_t row = 0; row < batch.rows; ++row) {
      weights[row] = static_cast<float>(advantage_weight(values_, worth.data() + row * outputs,
                                                         own.data() + row * outputs, batch.masks.data() + row * outputs,
                                                         batch.actions.data() + row * heads().values(), options_.beta));
    }
    learn_clone(actor_, actor_steps_, batch, batch.actions, weights, losses.actor);
    return losses;
  }
  double unused = 0;
  learn_clone(clone_, clone_steps_, batch, batch.actions, weights, unused);
  const std::span<const float> likely = clone_.forward(batch.inputs.data(), batch.rows, clone_pass_);
  std::vector<float> best(batch.actions.size());
  std::vector<std::uint8_t> allowed(outputs);
  for (std::size_t row = 0; row < batch.rows; ++row) {
    supported(heads(), likely.data() + row * outputs, batch.masks.data() + row * outputs, options_.threshold,
              allowed.data());
    heads().mode(worth.data() + row * outputs, allowed.data(), best.data() + row * heads().values());
  }
  learn_clone(actor_, actor_steps_, batch, best, weights, losses.actor);
  return losses;
}

Progress OfflineLearner::go_on() {
  std::vector<std::uint32_t> places(options_.batch);
  Transitions<float> batch;
  Progress progress;
  const double share = 1 / static_cast<double>(options_.at_once);
  for (std::size_t i = 0; i < options_.at_once; ++i) {
    for (std::uint32_t& place : places) place = random_.below(static_cast<std::uint32_t>(data_.rows));
    gather<float>(data_, places, batch);
    const Losses losses = update(batch);
    progress.policy += share * losses.actor;
    progress.value += share * losses.critic;
    ++updates_;
  }
  progress.decisions = updates_ * options_.batch;
  return progress;
}

double OfflineLearner::most_value() const {
  Mlp<float>::MlpPass pass;
  const std::span<const float> worth = critic_.forward(data_.inputs.data(), data_.rows, pass);
  double most = 0;
  for (std::size_t row = 0; row < data_.rows; ++row) {
    const float* action = data_.actions.data() + row * heads().values();
    most = std::max(most, std::abs(values_.of(worth.data() + row * heads().outputs(), action)));
  }
  return most;
}

template <class Visit>
void OfflineLearner::visit_memory(const Visit& visit) {
  visit(updates_);
  visit(drawn_);
  for (Mlp<float>* net : {&critic_, &slow_, &actor_, &clone_}) visit(net->parameters());
  for (Adam<float>* adam : {&critic_steps_, &actor_steps_, &clone_steps_}) {
    visit(adam->steps());
    visit(std::span<float>(adam->first()));
    visit(std::span<float>(adam->second()));
  }
}

std::vector<std::uint8_t> OfflineLearner::save() {
  ByteWriter writer;
  drawn_ = random_.drawn();
  visit_memory(writer);
  return writer.take();
}

Status OfflineLearner::restore(std::span<const std::uint8_t> saved) {
  const ByteReader reader(saved);
  visit_memory(reader);
  if (!reader.good()) return no_such_checkpoint();
  random_.seek(drawn_);
  return ok_status();
}

}  // namespace drapps::rl
