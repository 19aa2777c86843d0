// A model of each stage, and as much for each as it needs: in the manner of tf.data's autotuner.
//
// 1. Measured, with a memory of some decisions: s that a sample takes on a core and asleep, s of a read, and s of the
//    training that a sample's share of a step takes.
// 2. Modelled: producing a sample takes the longest of its stages, each divided by what works on it side by side; a
//    buffer of n samples is empty with the probability of a queue M/M/1/n; the training waits for that share of the
//    producing time.
// 3. Allocated: from the lowest settings on, the notch that shortens the modelled wait most, one after the other, until
//    it is below `wait` of a sample's training time, or nothing helps. Workers are no more than there are cores.
//
// Source: tf.data (Murray et al., VLDB 2021), and TensorFlow's model of asynchronous stages. As there, contention,
// bandwidth and the accelerators are not in the model.
#pragma once

#include <array>

#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"

namespace drapps {

class StageModel final : public Policy {
 public:
  static constexpr std::array kParameters{PolicyParameter{"wait", 0.01, 0.0001, 1},
                                          PolicyParameter{"memory", 8, 1, 1000}};  // decisions

  explicit StageModel(const PolicyConfig& config = {})
      : wait_(config.number(kParameters[0])), memory_(config.number(kParameters[1])) {}
  std::string_view name() const noexcept override { return "model"; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  bool knows(const PolicyState& state) const noexcept override;

 private:
  double wait_, memory_;
};

}  // namespace drapps
