// Hill climbing: one knob, one notch at a time, kept where the training step got faster.
//
// 0. Until the first measurement stands, the I/O depth may be raised to what the first reads ask for (start.h).
// 1. Measure the mean step at the settings in force (see step_window.h: at least three seconds).
// 2. Try one notch on one knob: wait until the guard let it through, give the change a second and the batches that were
//    ready before it, and measure again. A trial that is plainly worse (15 %) ends early.
// 3. Keep it where the step got faster by more than the noise (3 %, or three standard errors where that is more), and
//    go on in that direction. Otherwise return, and measure afresh before the next trial, so that a drift of the
//    machine is not taken for an effect of the knob. Each (knob, direction) that failed is remembered.
// 4. What is worth trying depends on the stall, the share of the step that was waited for data. From 3 % on there is
//    something to win: any knob with an order, both ways. Below, only fewer workers: a loader
//    that burns every core slows the step itself. Below 1 % fewer workers are kept even where the step is merely not
//    slower, measured against the best seen and not against the notch before, so that small losses cannot add up.
// 5. When nothing is left to try, hold and watch. When the situation changes (step time or CPU stretch by more than
//    15 %, or the stall across its thresholds, in two windows in a row), what failed is forgotten and the climb begins
//    again. Pauses of the training (checkpoints) are no change of situation.
//
// Source: the worker rule of Cachew (Graur et al., USENIX ATC 2022), with thresholds from our own noise measurements.
#pragma once

#include <array>

#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"

namespace drapps {

class HillClimb final : public Policy {
 public:
  static constexpr std::array kParameters{
      PolicyParameter{"gain", 0.03, 0.001, 0.5},  // a change of the mean step below this is no change
      PolicyParameter{"patience", 30, 1, 10'000,
                      true}};  // decisions for the guard to let a fast knob move; twice a slow

  explicit HillClimb(const PolicyConfig& config = {})
      : gain_(config.number(kParameters[0])), patience_(static_cast<std::uint32_t>(config.number(kParameters[1]))) {}
  std::string_view name() const noexcept override { return "hill_climb"; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  bool knows(const PolicyState& state) const noexcept override;

 private:
  double gain_;
  std::uint32_t patience_;
};

}  // namespace drapps
