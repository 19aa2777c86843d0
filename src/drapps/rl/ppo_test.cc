#include "drapps/rl/ppo.h"

#include <gtest/gtest.h>

#include <cmath>
#include <span>
#include <vector>

#include "drapps/rl/differences_test.h"
#include "drapps/rl/gae.h"

namespace drapps::rl {
namespace {

/// Rows that a net would have made, with likelihoods that are off by up to half.
Experience<double> some_experience(const ActorCritic<double>& nets, std::size_t rows, Random& random) {
  Experience<double> experience{.rows = rows};
  experience.inputs.resize(rows * nets.actor.inputs());
  for (double& input : experience.inputs) input = random.normal();
  experience.masks.assign(rows * nets.heads.outputs(), 1);
  experience.actions.resize(rows * nets.heads.values());
  Mlp<double>::MlpPass pass;
  const auto outputs = nets.actor.forward(experience.inputs.data(), rows, pass);
  for (std::size_t row = 0; row < rows; ++row) {
    const double* own = outputs.data() + row * nets.heads.outputs();
    std::uint8_t* mask = experience.masks.data() + row * nets.heads.outputs();
    double* action = experience.actions.data() + row * nets.heads.values();
    if (row % 3 == 0) mask[2] = 0;
    nets.heads.sample(own, mask, random, action);
    experience.log_probs.push_back(nets.heads.likelihood(own, mask, action).log_prob + random.uniform() - 0.5);
    experience.advantages.push_back(random.normal());
    experience.returns.push_back(random.normal());
  }
  return experience;
}

TEST(Ppo, GradientsAreThoseOfCentralDifferencesOnBothSidesOfTheClip) {
  const PpoOptions options;
  constexpr double kEntropy = 0.05;
  Random random(1);
  ActorCritic<double> nets(
      Heads({{HeadKind::kChoice, 3}, {HeadKind::kChoice, 4}, {HeadKind::kBeta, 2}, {HeadKind::kDirichlet, 3}}), 5, 6);
  nets.actor.begin(random, 1);
  nets.critic.begin(random, 1);
  const Experience<double> batch = some_experience(nets, 40, random);
  PpoGradients<double> gradients(nets);
  const PpoLosses losses = ppo_losses(nets, batch, options, kEntropy, gradients);
  EXPECT_GT(losses.clipped, 0.2);
  EXPECT_LT(losses.clipped, 0.9);
  PpoGradients<double> unused(nets);
  const auto total = [&] { return ppo_losses(nets, batch, options, kEntropy, unused).total(options, kEntropy); };
  expect_gradient(nets.actor.parameters(), gradients.actor, total);
  expect_gradient(nets.critic.parameters(), gradients.critic, total);
}

TEST(Ppo, ACertainGainInOneStateIsLearnt) {
  // Three arms that pay 0, 0.2 and 1; the arm that pays most is the one that is taken in the end.
  PpoOptions options;
  options.minibatch = 64;
  options.rate = 3e-3;
  Random random(2);
  ActorCritic<float> nets(Heads({{HeadKind::kChoice, 3}}), 1, 8);
  nets.actor.begin(random, 0.01);
  nets.critic.begin(random, 1);
  Ppo ppo(nets, options);
  constexpr std::array<float, 3> kPays{0, 0.2F, 1};
  Mlp<float>::MlpPass pass;
  const float one = 1;
  const std::array<std::uint8_t, 3> mask{1, 1, 1};
  for (int update = 0; update < 40; ++update) {
    Experience<float> done{.rows = 128};
    done.inputs.assign(done.rows, one);
    done.masks.assign(done.rows * 3, 1);
    const auto outputs = ppo.nets().actor.forward(&one, 1, pass);
    Mlp<float>::MlpPass critic_pass;
    const float value = ppo.nets().critic.forward(&one, 1, critic_pass)[0];
    for (std::size_t row = 0; row < done.rows; ++row) {
      float action = 0;
      ppo.nets().heads.sample(outputs.data(), mask.data(), random, &action);
      done.actions.push_back(action);
      done.log_probs.push_back(
          static_cast<float>(ppo.nets().heads.likelihood(outputs.data(), mask.data(), &action).log_prob));
      done.returns.push_back(kPays[static_cast<std::size_t>(action)]);
      done.advantages.push_back(done.returns.back() - value);
    }
    ppo.update(done, 0, random);
  }
  const auto outputs = ppo.nets().actor.forward(&one, 1, pass);
  const float best = 2;
  EXPECT_GT(ppo.nets().heads.likelihood(outputs.data(), mask.data(), &best).log_prob, std::log(0.9));
}

TEST(Gae, AnEndHasNoValueAndALimitInTimeHasOne) {
  const std::vector<double> rewards{1, 2, 3};
  const std::vector<double> values{0.5, 1, 2};
  std::vector<double> estimates(3);
  const auto of = [&](std::vector<double> next, std::vector<std::uint8_t> ended) {
    advantages<double>(rewards, values, next, ended, 0.5, 0.5, estimates);
    return estimates;
  };
  // The episode goes on: delta is 1, 2 and 3 + 0.5 * 4 - 2 = 3.
  EXPECT_EQ(of({1, 2, 4}, {0, 0, 0}), (std::vector<double>{1 + 0.25 * (2 + 0.25 * 3), 2 + 0.25 * 3, 3}));
  // It ends with the second step, so that nothing of the third one counts for it.
  EXPECT_EQ(of({1, 0, 4}, {0, 1, 0}), (std::vector<double>{1 + 0.25 * 1, 1, 3}));
  // It is cut off there, in a state that is worth 6.
  EXPECT_EQ(of({1, 6, 4}, {0, 1, 0}), (std::vector<double>{1 + 0.25 * 4, 4, 3}));
}

TEST(Adam, TheFirstStepIsOneRateLong) {
  Adam<double> adam(2);
  std::vector<double> parameters{1, 1};
  adam.step(parameters, std::vector<double>{100, -0.1}, 0.01);
  EXPECT_NEAR(parameters[0], 0.99, 1e-5);
  EXPECT_NEAR(parameters[1], 1.01, 1e-5);
  std::vector<double> gradient{3, 4};
  EXPECT_EQ(cut_norm(std::span(gradient), 0.5), 5);
  EXPECT_NEAR(gradient[1], 0.4, 1e-12);
}

}  // namespace
}  // namespace drapps::rl
