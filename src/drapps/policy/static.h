// Settings that somebody has chosen: what other policies are compared with, and how a person moves knobs amid a pass.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"

namespace drapps {

/// Proposes the values that its parameters give to knobs of these names, and leaves the others where they stand. It
/// remembers nothing.
class Static final : public Policy {
 public:
  static constexpr double kLeft = -1;  // of a knob without a value
  static constexpr double kMost = 1e6;
  /// In the order of knob_table().
  static constexpr std::array<PolicyParameter, kKnobs> kParameters{{
      {"workers", kLeft, kLeft, kMost, true},
      {"io_depth", kLeft, kLeft, kMost, true},
      {"prefetch_depth", kLeft, kLeft, kMost, true},
      {"fused", kLeft, kLeft, 1, true},
      {"processes", kLeft, kLeft, kMost, true},
      {"decode_on_gpu", kLeft, kLeft, kWeightUnit, true},
      {"augment_on_gpu", kLeft, kLeft, kWeightUnit, true},
      {"form", kLeft, kLeft, kMost, true},
      {"remote_workers", kLeft, kLeft, kMost, true},
  }};

  explicit Static(const PolicyConfig& config = {}) {
    for (std::size_t i = 0; i < kKnobs; ++i) wanted_[i] = static_cast<std::int32_t>(config.number(kParameters[i]));
  }
  std::string_view name() const noexcept override { return "static"; }
  Settings decide(const Observation& observation, PolicyState& state) const override {
    Settings settings = observation.settings;
    for (std::size_t i = 0; i < kKnobs; ++i) {
      if (wanted_[i] >= 0) settings.knobs[i] = wanted_[i];
    }
    state.why = Reason("as was set");
    return settings;
  }
  bool knows(const PolicyState&) const noexcept override { return true; }

 private:
  std::array<std::int32_t, kKnobs> wanted_{};
};

}  // namespace drapps
