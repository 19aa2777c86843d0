// Where samples are decoded and augmented, fixed beforehand: the baselines that published schedulers are compared with.
//
// Each holds the shares of accelerators, in sixteenths, and leaves all other knobs where they stand. It remembers
// nothing.
#pragma once

#include <array>
#include <string_view>

#include "drapps/plant/policy.h"
#include "drapps/policy/config.h"

namespace drapps {

class Placement : public Policy {
 public:
  Settings decide(const Observation& observation, PolicyState& state) const final {
    Settings settings = observation.settings;
    settings[KnobId::kDecodeOnGpu] = settings[KnobId::kAugmentOnGpu] = sixteenths_;
    state.why = Reason("the devices have fixed shares");
    return settings;
  }
  bool knows(const PolicyState&) const noexcept final { return true; }

 protected:
  explicit Placement(std::int32_t sixteenths) : sixteenths_(sixteenths) {}

 private:
  std::int32_t sixteenths_;
};

/// All on the CPU.
class CpuOnly final : public Placement {
 public:
  explicit CpuOnly(const PolicyConfig& = {}) : Placement(0) {}
  std::string_view name() const noexcept override { return "cpu_only"; }
};

/// All on the accelerators.
class GpuOnly final : public Placement {
 public:
  explicit GpuOnly(const PolicyConfig& = {}) : Placement(kWeightUnit) {}
  std::string_view name() const noexcept override { return "gpu_only"; }
};

/// Samples go to the CPU and to the accelerators by turns.
class RoundRobin final : public Placement {
 public:
  explicit RoundRobin(const PolicyConfig& = {}) : Placement(kWeightUnit / 2) {}
  std::string_view name() const noexcept override { return "round_robin"; }
};

/// A share that somebody has chosen.
class FixedSplit final : public Placement {
 public:
  static constexpr std::array kParameters{PolicyParameter{"gpu", 4, 0, kWeightUnit, true}};  // sixteenths

  explicit FixedSplit(const PolicyConfig& config = {})
      : Placement(static_cast<std::int32_t>(config.number(kParameters[0]))) {}
  std::string_view name() const noexcept override { return "fixed_split"; }
};

}  // namespace drapps
