// Additive increase, multiplicative decrease: the rule of congestion control, for makers and batches ahead.
//
// 1. Where the training waits for more than `stall` of its time, there is one more maker, one more read in flight and
//    one more batch ahead.
// 2. Where it does not, and the cores are busier than `busy`, there are `factor` times as many makers.
// 3. Else nothing moves.
//
// Source: D. Chiu and R. Jain, "Analysis of the increase and decrease algorithms for congestion avoidance in computer
// networks", Computer Networks and ISDN Systems 17 (1989).
#pragma once

#include <array>

#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"

namespace drapps {

class Aimd final : public Policy {
 public:
  static constexpr std::array kParameters{PolicyParameter{"stall", 0.02, 0, 1}, PolicyParameter{"busy", 0.9, 0, 1},
                                          PolicyParameter{"factor", 0.5, 0.1, 1}};

  explicit Aimd(const PolicyConfig& config = {})
      : stall_(config.number(kParameters[0])),
        busy_(config.number(kParameters[1])),
        factor_(config.number(kParameters[2])) {}
  std::string_view name() const noexcept override { return "aimd"; }
  Settings decide(const Observation& observation, PolicyState& state) const override;
  bool knows(const PolicyState&) const noexcept override { return true; }

 private:
  double stall_, busy_, factor_;
};

}  // namespace drapps
