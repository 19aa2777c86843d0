#include "drapps/rl/heads.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <vector>

namespace drapps::rl {
namespace {

/// A notch, a share, a sixteenth among three lanes, shares of four, and a share that is a squashed deviate.
Heads some_heads() {
  return Heads({{HeadKind::kChoice, 3},
                {HeadKind::kBeta, 2},
                {HeadKind::kChoice, 7},
                {HeadKind::kDirichlet, 4},
                {HeadKind::kNormal, 2}});
}

std::vector<double> some_outputs(std::size_t count, Random& random) {
  std::vector<double> outputs(count);
  for (double& output : outputs) output = random.normal();
  return outputs;
}

TEST(Heads, GradientsAreThoseOfCentralDifferences) {
  const Heads heads = some_heads();
  Random random(1);
  std::vector<std::uint8_t> mask(heads.outputs(), 1);
  mask[1] = mask[6] = 0;
  for (int round = 0; round < 20; ++round) {
    std::vector<double> outputs = some_outputs(heads.outputs(), random);
    std::vector<double> action(heads.values());
    heads.sample(outputs.data(), mask.data(), random, action.data());
    const double by_log_prob = random.normal();
    const double by_entropy = random.normal();
    const auto loss = [&] {
      const Likelihood now = heads.likelihood(outputs.data(), mask.data(), action.data());
      return by_log_prob * now.log_prob + by_entropy * now.entropy;
    };
    std::vector<double> gradient(heads.outputs());
    heads.gradient(outputs.data(), mask.data(), action.data(), by_log_prob, by_entropy, gradient.data());
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      constexpr double kStep = 1e-6;
      const double at = outputs[i];
      outputs[i] = at + kStep;
      const double above = loss();
      outputs[i] = at - kStep;
      const double below = loss();
      outputs[i] = at;
      const double wanted = (above - below) / (2 * kStep);
      EXPECT_NEAR(gradient[i], wanted, 1e-5 * std::max(1.0, std::abs(wanted))) << i;
    }
  }
}

TEST(Heads, WhatIsForbiddenIsNeverDoneNorLearnt) {
  const Heads heads({{HeadKind::kChoice, 3}});
  const std::array<double, 3> outputs{5, 1, 0};
  const std::array<std::uint8_t, 3> mask{0, 1, 1};
  Random random(2);
  std::array<int, 3> counts{};
  double action = 0;
  for (int i = 0; i < 4000; ++i) {
    heads.sample(outputs.data(), mask.data(), random, &action);
    ++counts[static_cast<std::size_t>(action)];
  }
  EXPECT_EQ(counts[0], 0);
  EXPECT_NEAR(counts[1] / 4000.0, 1 / (1 + std::exp(-1.0)), 0.03);
  heads.mode(outputs.data(), mask.data(), &action);
  EXPECT_EQ(action, 1);
  std::array<double, 3> gradient{7, 7, 7};
  heads.gradient(outputs.data(), mask.data(), &action, 1, 1, gradient.data());
  EXPECT_EQ(gradient[0], 0);
  const double p = 1 / (1 + std::exp(-1.0));
  EXPECT_NEAR(heads.likelihood(outputs.data(), mask.data(), &action).log_prob, std::log(p), 1e-12);
}

TEST(Heads, ASingleAllowedChoiceIsCertain) {
  const Heads heads({{HeadKind::kChoice, 3}});
  const std::array<float, 3> outputs{-3, 1, 0};
  const std::array<std::uint8_t, 3> mask{1, 0, 0};
  float action = 0;
  heads.mode(outputs.data(), mask.data(), &action);
  const Likelihood now = heads.likelihood(outputs.data(), mask.data(), &action);
  EXPECT_EQ(action, 0);
  EXPECT_EQ(now.log_prob, 0);
  EXPECT_EQ(now.entropy, 0);
}

TEST(Heads, SharesSumToOneAndHaveTheirMeans) {
  const Heads heads({{HeadKind::kDirichlet, 3}, {HeadKind::kBeta, 2}});
  const std::array<double, 5> outputs{2, 0, -1, 1, -1};
  const std::array<std::uint8_t, 5> mask{1, 1, 1, 1, 1};
  Random random(3);
  std::array<double, 4> sums{};
  std::array<double, 4> action{};
  constexpr int kCount = 20000;
  for (int i = 0; i < kCount; ++i) {
    heads.sample(outputs.data(), mask.data(), random, action.data());
    EXPECT_NEAR(action[0] + action[1] + action[2], 1, 3e-4);
    for (std::size_t k = 0; k < 4; ++k) sums[k] += action[k] / kCount;
  }
  heads.mode(outputs.data(), mask.data(), action.data());
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(sums[k], action[k], 0.01);
}

TEST(Heads, DensitiesIntegrateToOne) {
  const Heads beta({{HeadKind::kBeta, 2}});
  const std::array<double, 2> outputs{0.7, -0.4};
  const std::array<std::uint8_t, 2> mask{1, 1};
  double integral = 0;
  double entropy = 0;
  constexpr int kCount = 100'000;
  for (int i = 0; i < kCount; ++i) {
    const double x = (i + 0.5) / kCount;
    const double log_density = beta.likelihood(outputs.data(), mask.data(), &x).log_prob;
    integral += std::exp(log_density) / kCount;
    entropy -= std::exp(log_density) * log_density / kCount;
  }
  const double any = 0.5;
  EXPECT_NEAR(integral, 1, 1e-6);
  EXPECT_NEAR(entropy, beta.likelihood(outputs.data(), mask.data(), &any).entropy, 1e-6);
}

}  // namespace
}  // namespace drapps::rl
