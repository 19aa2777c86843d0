// For the tests of this folder: a policy whose every proposal is known.
#pragma once

#include <algorithm>

#include "drapps/plant/policy.h"

namespace drapps {

/// Wants so many fewer of a knob, but one at least.
class Fewer final : public Policy {
 public:
  explicit Fewer(KnobId knob = KnobId::kWorkers, std::int32_t by = kMost) : knob_(knob), by_(by) {}
  std::string_view name() const noexcept override { return "fewer"; }
  Settings decide(const Observation& observation, PolicyState& state) const override {
    state.why = Reason("one is enough");
    Settings settings = observation.settings;
    settings[knob_] = std::max(1, settings[knob_] - by_);
    return settings;
  }

 private:
  static constexpr std::int32_t kMost = 1000;

  const KnobId knob_;
  const std::int32_t by_;
};

}  // namespace drapps
