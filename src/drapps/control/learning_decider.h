// A decider whose policy goes on learning where its config says so: what clients of live plants and simulated runs
// have.
//
//   LearningDecider decider(config, *make_policy(config), plant.limits());
//   const Decision decision = decider.decide(plant.observe(), monotonic_ns);
//   decider.go_on(monotonic_ns());
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "drapps/control/live_learner.h"
#include "drapps/policy/config.h"
#include "drapps/policy/decider.h"

namespace drapps {

/// Not thread-safe, but for what learner() gives.
class LearningDecider {
 public:
  /// Is given weights that are in force from here on.
  using Renewed = std::function<void(const std::vector<std::byte>& weights)>;

  /// The policy begins with the weights that were kept last, which `renewed` is not given.
  LearningDecider(PolicyConfig config, std::unique_ptr<const Policy> policy, const Limits& limits,
                  Renewed renewed = {});

  /// What decides.
  Decider* operator->() noexcept { return &decider_; }
  const Decider* operator->() const noexcept { return &decider_; }
  /// Of the policy, with the weights in force.
  const PolicyConfig& config() const noexcept { return config_; }
  /// Null where the policy does not go on learning.
  const std::shared_ptr<LiveLearner>& learner() const noexcept { return learner_; }

  /// Decider::swap(), to a policy of this config.
  std::unique_ptr<const Policy> swap(PolicyConfig config, std::unique_ptr<const Policy> policy);
  /// Decider::decide(), from which is learnt.
  Decision decide(const Observation& seen, const std::function<std::uint64_t()>& clock);
  /// Does a piece of the learning, where there is time for one.
  void go_on(std::uint64_t now_ns);

 private:
  /// Whether the policy has got other weights.
  bool appoint_learner();
  bool renew(std::vector<std::byte> weights);

  Decider decider_;
  PolicyConfig config_;
  Renewed renewed_;
  std::shared_ptr<LiveLearner> learner_;
};

}  // namespace drapps
