// Thresholds: what the published schedulers call their rule-based baseline.
//
// 1. Where the cores are busier than `cpu_high` and the accelerators less than `gpu_low`, more samples are decoded and
//    augmented on accelerators; where it is the other way round (`gpu_high`, `cpu_low`), fewer.
// 2. Where the training waits for more than `stall` of its time and cores are left, there is one more maker; where it
//    does not wait at all and the cores are busier than `cpu_high`, one fewer.
// 3. Else nothing moves.
//
// Each decision asks for one notch of each knob. The defaults of cpu_high and gpu_low are the published ones.
#pragma once

#include <array>

#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"

namespace drapps {

class Rule final : public Policy {
 public:
  static constexpr std::array kParameters{PolicyParameter{"cpu_high", 0.9, 0, 1}, PolicyParameter{"gpu_low", 0.5, 0, 1},
                                          PolicyParameter{"gpu_high", 0.9, 0, 1}, PolicyParameter{"cpu_low", 0.5, 0, 1},
                                          PolicyParameter{"stall", 0.05, 0, 1}};

  explicit Rule(const PolicyConfig& config = {})
      : cpu_high_(config.number(kParameters[0])),
        gpu_low_(config.number(kParameters[1])),
        gpu_high_(config.number(kParameters[2])),
        cpu_low_(config.number(kParameters[3])),
        stall_(config.number(kParameters[4])) {}
  std::string_view name() const noexcept override { return "rule"; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  bool knows(const PolicyState&) const noexcept override { return true; }

 private:
  double cpu_high_, gpu_low_, gpu_high_, cpu_low_, stall_;
};

}  // namespace drapps
