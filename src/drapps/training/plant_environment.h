// A simulated plant behind its guard as what a policy learns in: a step is a decision.
//
// An episode is one of a course, begun with the settings of a loader, with the best ones for its beginning, or with
// any; its decisions come late by up to two decisions, and what is seen is not quite what is so, both as drawn for it.
//
// Source of delays and noise: the control plane's design.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "drapps/policy/guard.h"
#include "drapps/policy/learned_weights.h"
#include "drapps/policy/published.h"
#include "drapps/policy/reward.h"
#include "drapps/rl/environment.h"
#include "drapps/sim/fluid_plant.h"
#include "drapps/training/episodes.h"

namespace drapps::training {

struct PlantOptions {
  Reward reward;
  double warm = 0.4;        // share of episodes that begin with the best settings for their beginning
  double anywhere = 0.2;    // share of episodes that begin with any settings; the others begin as a loader does
  std::uint32_t delay = 2;  // decisions, at most
  double noise = 0.25;      // of what is seen, at most, as a share of it
  double hard = 0;          // share of the episodes that are among the hardest, once these are known
  KnobClock pace = kLearnedPace;
};

class PlantEnvironment final : public rl::Environment {
 public:
  /// The course and the shape outlive it, and are shared with others.
  PlantEnvironment(std::shared_ptr<const Course> course, std::shared_ptr<const LearnedNetwork> shape,
                   const PlantOptions& options)
      : course_(std::move(course)), shape_(std::move(shape)), options_(options) {}

  std::size_t inputs() const noexcept override { return shape_->inputs.size(); }
  rl::Heads heads() const override { return shape_->moves.heads(); }
  std::uint64_t numbered(std::uint64_t drawn) const override;
  void begin(std::uint64_t episode) override;
  void look(float* inputs, std::uint8_t* mask) const override;
  rl::Outcome step(const float* action) override;

 private:
  void take_in();
  /// The segment that a decision's time lies in.
  std::size_t segment() const noexcept;
  double tick() const noexcept { return 1e-9 * static_cast<double>(options_.pace.period_ns); }

  std::shared_ptr<const Course> course_;
  std::shared_ptr<const LearnedNetwork> shape_;
  PlantOptions options_;

  const Episode* episode_ = nullptr;
  rl::Random random_{0};
  std::unique_ptr<sim::FluidPlant> plant_;  // null before the first episode
  std::unique_ptr<Guard> guard_;
  std::unique_ptr<const Policy> base_;  // whose proposals are moved; null where there is none
  PolicyState base_state_;
  Observation seen_;
  LearnedMemory memory_{};
  std::vector<float> inputs_;
  std::vector<Settings> late_;  // proposals that have not come yet, the oldest first
  std::uint32_t delay_ = 0;
  double noise_ = 0;
};

}  // namespace drapps::training
