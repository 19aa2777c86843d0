#include "drapps/rl/fine_tuner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "drapps/rl/differences_test.h"

namespace drapps::rl {
namespace {

TEST(Heads, TheDivergenceHasTheGradientOfCentralDifferencesAndIsZeroAtTheReference) {
  const Heads heads({{HeadKind::kChoice, 3}, {HeadKind::kBeta, 2}, {HeadKind::kDirichlet, 3}, {HeadKind::kNormal, 2}});
  Random random(3);
  std::vector<double> reference(heads.outputs()), own(heads.outputs());
  for (double& each : reference) each = random.normal();
  for (double& each : own) each = random.normal();
  std::vector<std::uint8_t> mask(heads.outputs(), 1);
  mask[1] = 0;
  std::vector<double> unused(own.size());
  const auto divergence = [&](const std::vector<double>& of) {
    return heads.divergence(reference.data(), of.data(), mask.data(), 0, unused.data());
  };
  EXPECT_NEAR(divergence(reference), 0, 1e-12);
  EXPECT_GT(divergence(own), 0.1);
  std::vector<double> gradient(own.size());
  heads.divergence(reference.data(), own.data(), mask.data(), 1, gradient.data());
  EXPECT_EQ(gradient[1], 0);
  expect_gradient(std::span(own), gradient, [&] { return divergence(own); });
}

TEST(Heads, TheDivergenceIsTheMeanLogarithmOfTheRatio) {
  const Heads heads({{HeadKind::kBeta, 2}, {HeadKind::kDirichlet, 3}, {HeadKind::kNormal, 2}, {HeadKind::kChoice, 4}});
  Random random(4);
  std::vector<double> reference(heads.outputs()), own(heads.outputs()), unused(heads.outputs());
  for (double& each : reference) each = random.normal();
  for (std::size_t i = 0; i < own.size(); ++i) own[i] = reference[i] + 0.5 * random.normal();
  const std::vector<std::uint8_t> mask(heads.outputs(), 1);
  std::vector<double> action(heads.values());
  double sum = 0;
  constexpr int kDrawn = 40'000;
  for (int i = 0; i < kDrawn; ++i) {
    heads.sample(reference.data(), mask.data(), random, action.data());
    sum += heads.likelihood(reference.data(), mask.data(), action.data()).log_prob -
           heads.likelihood(own.data(), mask.data(), action.data()).log_prob;
  }
  EXPECT_NEAR(heads.divergence(reference.data(), own.data(), mask.data(), 0, unused.data()), sum / kDrawn, 0.02);
}

TEST(Ppo, AnAnchorHasTheGradientOfCentralDifferences) {
  const Heads heads({{HeadKind::kChoice, 3}, {HeadKind::kBeta, 2}});
  ActorCritic<double> nets(heads, 4, 5);
  Mlp<double> before = nets.actor;
  Random random(5);
  nets.actor.begin(random, 1);
  nets.critic.begin(random, 1);
  before.begin(random, 1);
  Experience<double> batch{.rows = 12};
  batch.inputs.resize(batch.rows * 4);
  for (double& input : batch.inputs) input = random.normal();
  batch.masks.assign(batch.rows * heads.outputs(), 1);
  batch.actions.resize(batch.rows * heads.values());
  Mlp<double>::MlpPass pass;
  const auto outputs = nets.actor.forward(batch.inputs.data(), batch.rows, pass);
  for (std::size_t row = 0; row < batch.rows; ++row) {
    double* action = batch.actions.data() + row * heads.values();
    const double* own = outputs.data() + row * heads.outputs();
    heads.sample(own, batch.masks.data(), random, action);
    batch.log_probs.push_back(heads.likelihood(own, batch.masks.data(), action).log_prob);
    batch.advantages.push_back(random.normal());
    batch.returns.push_back(random.normal());
  }
  const PpoAnchor<double> anchor{&before, 0.7};
  const PpoOptions options;
  PpoGradients<double> gradients(nets), unused(nets);
  EXPECT_GT(ppo_losses(nets, batch, options, 0, gradients, anchor).away, 0.01);
  const auto total = [&] {
    const PpoLosses losses = ppo_losses(nets, batch, options, 0, unused, anchor);
    return losses.total(options, 0) + anchor.weight * losses.away;
  };
  expect_gradient(nets.actor.parameters(), gradients.actor, total);
}

/// Two states, told by the input; in the first one the first of two arms pays, in the second nothing does.
class TwoStates {
 public:
  explicit TwoStates(const FineTuneOptions& options) : tuner(heads(), actor(), options) {}

  static Heads heads() { return Heads({{HeadKind::kChoice, 2}}); }
  static Mlp<float> actor() {
    Mlp<float> net({1, 8, 8, 2});
    Random random(6);
    net.begin(random, 0.01);
    return net;
  }

  FineTuned update() {
    constexpr std::size_t kRows = 128;
    Transitions<float> steps{.rows = kRows};
    float state = 1;
    for (std::size_t row = 0; row < kRows; ++row) {
      const auto outputs = tuner.actor().forward(&state, 1, pass_);
      float action = 0;
      tuner_heads_.sample(outputs.data(), kMask.data(), random_, &action);
      steps.inputs.push_back(state);
      steps.masks.insert(steps.masks.end(), kMask.begin(), kMask.end());
      steps.actions.push_back(action);
      steps.rewards.push_back(state > 0 && action == 0 ? 1.0F : 0.0F);
      state = random_.uniform() < 0.5 ? 1.0F : -1.0F;
      steps.next_inputs.push_back(state);
      steps.ended.push_back(0);
    }
    steps.ended.back() = 1;
    tuner.begin(steps);
    int pieces = 1;
    for (;; ++pieces) {
      if (const auto done = tuner.go_on()) {
        EXPECT_GT(pieces, 4);
        return *done;
      }
    }
  }
  double share_of_the_first() {
    const float state = 1, first = 0;
    const auto outputs = tuner.actor().forward(&state, 1, pass_);
    return std::exp(tuner_heads_.likelihood(outputs.data(), kMask.data(), &first).log_prob);
  }

  FineTuner tuner;

 private:
  static constexpr std::array<std::uint8_t, 2> kMask{1, 1};
  Heads tuner_heads_ = heads();
  Random random_{7};
  Mlp<float>::MlpPass pass_;
};

FineTuneOptions fast() {
  FineTuneOptions options{.anchor = 0, .least_explained = -1e9, .hidden = 8};
  options.ppo.rate = 3e-3;
  options.ppo.clip = 0.2;
  options.ppo.target_divergence = 1;
  options.ppo.gamma = 0.5;
  return options;
}

TEST(FineTuner, LearnsWhatPaysByItsLastLayerAlone) {
  TwoStates where(fast());
  const Mlp<float> before = where.tuner.actor();
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(where.update().acted);
  EXPECT_GT(where.share_of_the_first(), 0.8);
  const std::span<const float> was = before.parameters(), is = where.tuner.actor().parameters();
  const std::size_t last = (8 + 1) * 2;
  EXPECT_TRUE(std::ranges::equal(was.first(was.size() - last), is.first(is.size() - last)));
}

TEST(FineTuner, StaysWithAnAnchorThatIsHeavy) {
  FineTuneOptions options = fast();
  options.anchor = 100;
  TwoStates where(options);
  FineTuned last;
  for (int i = 0; i < 40; ++i) last = where.update();
  EXPECT_LT(where.share_of_the_first(), 0.65);
  EXPECT_GE(last.losses.away, 0);
}

TEST(FineTuner, ActsOnlyOnceTheCriticExplainsTheReturns) {
  FineTuneOptions options = fast();
  options.least_explained = 0.3;
  options.critic_rate = 3e-3;
  TwoStates where(options);
  const std::vector<float> before(where.tuner.actor().parameters().begin(), where.tuner.actor().parameters().end());
  EXPECT_FALSE(where.update().acted);
  EXPECT_TRUE(std::ranges::equal(before, where.tuner.actor().parameters()));
  bool acted = false;
  for (int i = 0; i < 60 && !acted; ++i) acted = where.update().acted;
  EXPECT_TRUE(acted);
  EXPECT_FALSE(std::ranges::equal(before, where.tuner.actor().parameters()));
}

TEST(FineTuner, OtherParametersEndTheUpdateUnderWay) {
  TwoStates where(fast());
  Transitions<float> steps{.rows = 1};
  steps.inputs = steps.next_inputs = {1};
  steps.masks = {1, 1};
  steps.actions = steps.rewards = {0};
  steps.ended = {1};
  where.tuner.begin(steps);
  EXPECT_TRUE(where.tuner.busy());
  const std::vector<float> others(where.tuner.actor().parameters().size(), 0.25F);
  where.tuner.set_actor(others);
  EXPECT_FALSE(where.tuner.busy());
  EXPECT_TRUE(std::ranges::equal(others, where.tuner.actor().parameters()));
}

}  // namespace
}  // namespace drapps::rl
