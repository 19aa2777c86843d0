#include "drapps/rl/learner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "drapps/base/full_testing.h"

namespace drapps::rl {
namespace {

/// A pole on a cart, which is pushed left or right: as long as it stands each step gives 1, and 500 steps are the
/// limit. Source: A. G. Barto, R. S. Sutton, C. W. Anderson, IEEE Transactions on Systems, Man, and Cybernetics 13
/// (1983), in the form of Gymnasium's CartPole-v1.
class CartPole final : public Environment {
 public:
  std::size_t inputs() const noexcept override { return 4; }
  Heads heads() const override { return Heads({{HeadKind::kChoice, 2}}); }
  void begin(std::uint64_t episode) override {
    Random random(episode);
    for (double& each : state_) each = 0.1 * random.uniform() - 0.05;
    steps_ = 0;
  }
  void look(float* inputs, std::uint8_t* mask) const override {
    std::ranges::transform(state_, inputs, [](double each) { return static_cast<float>(each); });
    mask[0] = mask[1] = 1;
  }
  Outcome step(const float* action) override {
    auto& [x, speed, angle, turn] = state_;
    const double force = *action == 1 ? 10 : -10;
    const double sine = std::sin(angle);
    const double cosine = std::cos(angle);
    const double push = (force + 0.05 * turn * turn * sine) / 1.1;
    const double turning = (9.8 * sine - cosine * push) / (0.5 * (4.0 / 3 - 0.1 * cosine * cosine / 1.1));
    const double pull = push - 0.05 * turning * cosine / 1.1;
    x += 0.02 * speed;
    speed += 0.02 * pull;
    angle += 0.02 * turn;
    turn += 0.02 * turning;
    ++steps_;
    return {.reward = 1, .ended = std::abs(x) > 2.4 || std::abs(angle) > 0.20943951023931953, .cut = steps_ >= 500};
  }

 private:
  std::array<double, 4> state_{};
  int steps_ = 0;
};

LearnerOptions pole_options(std::uint64_t seed) {
  LearnerOptions options;
  options.environments = 8;
  options.steps = 128;
  options.decisions = 200'000;
  options.seed = seed;
  options.ppo.gamma = 0.99;
  options.ppo.rate = 1e-3;
  options.ppo.minibatch = 256;
  options.ppo.last_entropy = 0;
  return options;
}

/// Mean length of 20 episodes in which the likeliest is done.
double pole_score(const ActorCritic<float>& nets) {
  CartPole pole;
  double sum = 0;
  for (std::uint64_t episode = 0; episode < 20; ++episode) {
    pole.begin(episode);
    for (Outcome outcome; !outcome.ended && !outcome.cut;) {
      std::array<float, 4> inputs{};
      std::array<std::uint8_t, 2> mask{};
      std::array<float, 2 * kMostWidth> scratch;
      float action = 0;
      pole.look(inputs.data(), mask.data());
      nets.heads.mode(nets.actor.forward_one(inputs.data(), scratch).data(), mask.data(), &action);
      outcome = pole.step(&action);
      sum += outcome.reward;
    }
  }
  return sum / 20;
}

TEST(Learner, KeepsAPoleUpright) {
  // The published mark is the median of five seeds; a quick run has the first of them.
  const std::uint64_t seeds = full_tests() ? 5 : 1;
  std::vector<double> scores;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Learner learner(pole_options(seed), [] { return std::make_unique<CartPole>(); });
    double score = 0;
    for (int update = 1; score < 475 && !learner.done(); ++update) {
      learner.go_on();
      if (update % 20 == 0 || learner.done()) score = pole_score(learner.nets());
    }
    scores.push_back(score);
  }
  std::ranges::sort(scores);
  EXPECT_GE(scores[scores.size() / 2], 475);
}

TEST(Learner, GoesOnFromACheckpointToTheLastBit) {
  const auto make = [] { return std::make_unique<CartPole>(); };
  LearnerOptions options = pole_options(3);
  options.hidden = 8;
  Learner through(options, make);
  for (int i = 0; i < 3; ++i) through.go_on();
  const std::vector<std::uint8_t> saved = through.save();
  Learner again(options, make);
  ASSERT_TRUE(again.restore(saved).ok());
  for (int i = 0; i < 2; ++i) {
    const Progress one = through.go_on();
    const Progress two = again.go_on();
    EXPECT_EQ(one.decisions, two.decisions);
    EXPECT_EQ(one.policy, two.policy);
  }
  EXPECT_EQ(through.save(), again.save());
}

TEST(Learner, ACheckpointOfSomethingElseIsRefused) {
  const auto make = [] { return std::make_unique<CartPole>(); };
  LearnerOptions options = pole_options(3);
  options.hidden = 8;
  Learner learner(options, make);
  std::vector<std::uint8_t> saved = learner.save();
  saved.pop_back();
  EXPECT_FALSE(Learner(options, make).restore(saved).ok());
  options.hidden = 16;
  EXPECT_FALSE(Learner(options, make).restore(learner.save()).ok());
  EXPECT_FALSE(Learner(options, make).restore({}).ok());
}

}  // namespace
}  // namespace drapps::rl
