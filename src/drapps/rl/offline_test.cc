#include "drapps/rl/offline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "drapps/rl/differences_test.h"
#include "drapps/rl/offline_learner.h"

namespace drapps::rl {
namespace {

TEST(Offline, GradientsAreThoseOfCentralDifferences) {
  const Heads heads({{HeadKind::kChoice, 3}, {HeadKind::kChoice, 4}});
  const ActionValues values(heads);
  Random random(1);
  Mlp<double> net({4, 6, 6, heads.outputs()});
  net.begin(random, 1);
  Transitions<double> batch;
  batch.resize(30, 4, heads.outputs(), heads.values());
  for (double& each : batch.inputs) each = random.normal();
  std::ranges::fill(batch.masks, std::uint8_t{1});
  std::vector<double> targets(batch.rows), weights(batch.rows);
  const std::vector<double> level(heads.outputs());
  for (std::size_t row = 0; row < batch.rows; ++row) {
    batch.masks[row * heads.outputs() + row % 3] = 0;
    heads.sample(level.data(), batch.masks.data() + row * heads.outputs(), random, batch.actions.data() + row * 2);
    targets[row] = random.normal();
    weights[row] = random.uniform();
  }
  Mlp<double>::MlpPass pass;
  std::vector<double> gradient(net.parameters().size()), unused(gradient.size());
  offline_critic_loss<double>(values, net, batch, targets, 0.7, gradient, pass);
  expect_gradient(net.parameters(), gradient,
                  [&] { return offline_critic_loss<double>(values, net, batch, targets, 0.7, unused, pass); });
  std::ranges::fill(gradient, 0.0);
  cloning_loss<double>(heads, net, batch, batch.actions, weights, gradient, pass);
  expect_gradient(net.parameters(), gradient,
                  [&] { return cloning_loss<double>(heads, net, batch, batch.actions, weights, unused, pass); });
}

TEST(Offline, WhatHardlyAnybodyDidIsNotSupported) {
  const Heads heads({{HeadKind::kChoice, 3}, {HeadKind::kChoice, 2}});
  const std::array<float, 5> likely{2, 1.5F, -3, 0, 0};
  const std::array<std::uint8_t, 5> mask{1, 1, 1, 0, 1};
  std::array<std::uint8_t, 5> into{};
  supported(heads, likely.data(), mask.data(), 0.3, into.data());
  EXPECT_EQ(into, (std::array<std::uint8_t, 5>{1, 1, 0, 0, 1}));
}

/// A grid of 5 by 5 with a goal in one corner, to be reached from the opposite one: each step costs 0.1, the goal gives
/// 1. Who was recorded began anywhere, moved away from the goal more often than not, and never to the left.
class Grid {
 public:
  static constexpr int kSide = 5, kLimit = 40;
  static constexpr double kGamma = 0.9;

  static Heads heads() { return Heads({{HeadKind::kChoice, 4}}); }  // right, down, up, left
  static std::array<float, 2 * kSide> seen(int x, int y) {
    std::array<float, 2 * kSide> input{};
    input[static_cast<std::size_t>(x)] = input[static_cast<std::size_t>(kSide + y)] = 1;
    return input;
  }
  /// Whether the goal is reached.
  static bool step(int& x, int& y, int action) {
    constexpr std::array<int, 4> kRight{1, 0, 0, -1}, kDown{0, 1, -1, 0};
    x = std::clamp(x + kRight[static_cast<std::size_t>(action)], 0, kSide - 1);
    y = std::clamp(y + kDown[static_cast<std::size_t>(action)], 0, kSide - 1);
    return x == kSide - 1 && y == kSide - 1;
  }

  static Transitions<float> recorded(std::uint64_t seed) {
    Random random(seed);
    Transitions<float> transitions;
    for (int episode = 0; episode < 80; ++episode) {
      auto x = static_cast<int>(random.below(kSide)), y = static_cast<int>(random.below(kSide));
      for (int i = 0; i < kLimit; ++i) {
        const int action = static_cast<int>(random.below(3) == 0 ? 2 : random.below(3));
        const auto before = seen(x, y);
        const bool there = step(x, y, action);
        const auto after = seen(x, y);
        transitions.inputs.insert(transitions.inputs.end(), before.begin(), before.end());
        transitions.next_inputs.insert(transitions.next_inputs.end(), after.begin(), after.end());
        transitions.masks.insert(transitions.masks.end(), 4, 1);
        transitions.next_masks.insert(transitions.next_masks.end(), 4, 1);
        transitions.actions.push_back(static_cast<float>(action));
        transitions.rewards.push_back(there ? 0.9F : -0.1F);
        transitions.ended.push_back(there ? 1 : 0);
        ++transitions.rows;
        if (there) break;
      }
    }
    return transitions;
  }

  /// Discounted rewards from the corner on; of choices that are drawn the mean of 50 episodes.
  static double score(const OfflineLearner& learner, bool draws = false) {
    Random random(7);
    double sum = 0;
    for (int episode = 0; episode < 50; ++episode) {
      int x = 0, y = 0;
      double weight = 1;
      for (int i = 0; i < kLimit; ++i) {
        std::array<float, 2 * kMostWidth> scratch;
        const std::array<std::uint8_t, 4> mask{1, 1, 1, 1};
        float action = 0;
        const auto outputs = learner.actor().forward_one(seen(x, y).data(), scratch);
        if (draws) {
          learner.heads().sample(outputs.data(), mask.data(), random, &action);
        } else {
          learner.heads().mode(outputs.data(), mask.data(), &action);
        }
        const bool there = step(x, y, static_cast<int>(action));
        sum += weight * (there ? 0.9 : -0.1) / 50;
        weight *= kGamma;
        if (there) break;
      }
    }
    return sum;
  }
};

OfflineLearner trained(OfflineKind kind, std::uint64_t seed) {
  OfflineLearner learner(
      {.kind = kind, .gamma = Grid::kGamma, .rate = 3e-3, .hidden = 24, .batch = 64, .updates = 1024, .seed = seed},
      Grid::heads(), Grid::recorded(seed));
  while (!learner.done()) learner.go_on();
  return learner;
}

TEST(Offline, BetterThanWhoWasRecordedAndNotDiverging) {
  // Eight steps are the fewest: seven of -0.1 and one of 0.9.
  double best = 0;
  for (int i = 0; i < 8; ++i) best += std::pow(Grid::kGamma, i) * (i < 7 ? -0.1 : 0.9);
  const OfflineLearner clone = trained(OfflineKind::kCloning, 1);
  const double cloned = Grid::score(clone, /*draws=*/true);
  EXPECT_LT(Grid::score(clone), cloned);
  for (const OfflineKind kind : {OfflineKind::kCql, OfflineKind::kBcq}) {
    const OfflineLearner learner = trained(kind, 1);
    const double score = Grid::score(learner);
    EXPECT_GT(score, cloned + 0.1) << name_of(kind);
    EXPECT_GT(score, best - 0.1) << name_of(kind);
    EXPECT_LT(learner.most_value(), 2) << name_of(kind);
  }
  const OfflineLearner weighted = trained(OfflineKind::kAdvantage, 1);
  EXPECT_GT(Grid::score(weighted, /*draws=*/true), cloned + 0.05);
  EXPECT_LT(weighted.most_value(), 2);
}

TEST(Offline, GoesOnFromACheckpointToTheLastBitAndRefusesOthers) {
  for (const OfflineKind kind :
       {OfflineKind::kCloning, OfflineKind::kAdvantage, OfflineKind::kCql, OfflineKind::kBcq}) {
    EXPECT_EQ(offline_kind_named(name_of(kind)), kind);
    OfflineOptions options{.kind = kind, .hidden = 8, .batch = 16, .updates = 32, .at_once = 8};
    OfflineLearner through(options, Grid::heads(), Grid::recorded(2));
    through.go_on();
    std::vector<std::uint8_t> saved = through.save();
    OfflineLearner again(options, Grid::heads(), Grid::recorded(2));
    ASSERT_TRUE(again.restore(saved).ok());
    for (int i = 0; i < 2; ++i) EXPECT_EQ(through.go_on().value, again.go_on().value);
    EXPECT_EQ(through.save(), again.save());
    saved.pop_back();
    EXPECT_FALSE(again.restore(saved).ok());
  }
  EXPECT_FALSE(offline_kind_named("dagger"));
}

}  // namespace
}  // namespace drapps::rl
