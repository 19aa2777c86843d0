// For the tests of this folder: a policy whose every proposal is known.
#pragma once

#include "drapps/plant/policy.h"

namespace drapps {

/// Wants one of a knob, and says so.
class Fewer final : public Policy {
 public:
  explicit Fewer(KnobId knob = KnobId::kWorkers) : knob_(knob) {}
  std::string_view name() const noexcept override { return "fewer"; }
  Settings decide(const Observation& observation, PolicyState& state) const override {
    state.why = Reason("one is enough");
    Settings settings = observation.settings;
    settings[knob_] = 1;
    return settings;
  }

 private:
  const KnobId knob_;
};

}  // namespace drapps
