#include "drapps/policy/reward.h"

#include <algorithm>
#include <cmath>

namespace drapps {
namespace {

constexpr double kMostGoodput = 1.2;

double share(double part, double whole, double most = 1) noexcept {
  return whole > 0 ? std::clamp(part / whole, 0.0, most) : most;
}

}  // namespace

std::string_view name_of(RewardKind kind) noexcept {
  switch (kind) {
    case RewardKind::kOwn: return "own";
    case RewardKind::kPaperA: return "paper-a";
    case RewardKind::kPaperB: return "paper-b";
    case RewardKind::kPaperC: return "paper-c";
  }
  return "";
}

std::optional<Reward> reward_named(std::string_view name) noexcept {
  for (const Reward& reward :
       {Reward{}, Reward{RewardKind::kPaperA, {1, 0.5, 0.5, 0.1}}, Reward{RewardKind::kPaperB, {1, 0.5, 0, 0}},
        Reward{RewardKind::kPaperC, {0.5, 0.9, 0, 0}}}) {
    if (name_of(reward.kind) == name) return reward;
  }
  return std::nullopt;
}

double reward_of(const Reward& reward, const Stretch& stretch) noexcept {
  const auto& w = reward.weights;
  const double imbalance = std::abs(stretch.gpu - stretch.cpu);
  switch (reward.kind) {
    case RewardKind::kOwn:
      return share(stretch.rate, stretch.best, kMostGoodput) - w[0] * stretch.threads - w[1] * stretch.memory -
             w[2] * stretch.moves - w[3] * std::max(0.0, share(stretch.held - stretch.rate, stretch.best));
    case RewardKind::kPaperA:
      return w[0] * share(stretch.rate, stretch.asked) - w[1] * stretch.stall - w[2] * (1 - stretch.gpu) -
             w[3] * imbalance;
    case RewardKind::kPaperB: return -(w[0] * stretch.stall + w[1] * imbalance);
    case RewardKind::kPaperC: return -(stretch.stall + (stretch.gpu < w[1] ? w[0] : 0));
  }
  return 0;
}

}  // namespace drapps
