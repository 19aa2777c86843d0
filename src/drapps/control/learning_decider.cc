#include "drapps/control/learning_decider.h"

#include <utility>

#include "drapps/base/caught.h"
#include "drapps/policy/registry.h"

namespace drapps {

LearningDecider::LearningDecider(PolicyConfig config, std::unique_ptr<const Policy> policy, const Limits& limits,
                                 Renewed renewed)
    : decider_(std::move(policy), limits), config_(std::move(config)), renewed_(std::move(renewed)) {
  appoint_learner();
}

std::unique_ptr<const Policy> LearningDecider::swap(PolicyConfig config, std::unique_ptr<const Policy> policy) {
  config_ = std::move(config);
  std::unique_ptr<const Policy> before = decider_.swap(std::move(policy));
  if (appoint_learner() && renewed_) renewed_(config_.weights);
  return before;
}

Decision LearningDecider::decide(const Observation& seen, const std::function<std::uint64_t()>& clock) {
  if (learner_ == nullptr) return decider_.decide(seen, clock);
  const PolicyState before = decider_.state();
  Decision decision = decider_.decide(seen, clock);
  // What cannot be learnt from has been decided all the same.
  static_cast<void>(catching([&] { learner_->decided(seen, before, decision, decider_); }));
  return decision;
}

void LearningDecider::go_on(std::uint64_t now_ns) {
  if (learner_ == nullptr) return;
  std::vector<std::byte> weights = learner_->go_on(now_ns);
  if (!weights.empty() && renew(std::move(weights)) && renewed_) renewed_(config_.weights);
}

bool LearningDecider::appoint_learner() {
  learner_.reset();
  if (!config_.learn) return false;
  auto learner = LiveLearner::make(config_);
  if (!learner.ok()) return false;  // a config of which a policy was made has weights
  learner_ = *std::move(learner);
  std::vector<std::byte> weights = learner_->weights();
  return weights != config_.weights && renew(std::move(weights));
}

bool LearningDecider::renew(std::vector<std::byte> weights) {
  config_.weights = std::move(weights);
  auto policy = make_policy(config_);
  if (!policy.ok()) return false;  // the learner gives none of which no policy can be made
  static_cast<void>(decider_.renew(*std::move(policy)));
  return true;
}

}  // namespace drapps
