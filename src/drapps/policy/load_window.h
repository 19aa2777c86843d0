// How loaded a plant was between two decisions: what rules with thresholds compare.
#pragma once

#include <cstdint>

#include "drapps/plant/plant.h"

namespace drapps {

/// How loaded the plant was since the observation before. Shares lie in [0, 1].
struct Load {
  bool known = false;  // something passed, and it is the same plant
  double stall = 0;    // share of the training's time that was waited for data
  double cpu = 0;      // share of the machine's cores that were busy; of the budget where no meter says it
  bool gpu_known = false;
  // Share of the time in which the accelerators worked, for whomever: by their meter. Where there is none, for the
  // loader alone, by the events of the device that its samples may be prepared on.
  double gpu = 0;
};

/// Plain and trivially copyable: it lives in a policy's memory. Zero bytes have seen nothing yet.
class LoadWindow {
 public:
  Load next(const Observation& observation, const Limits& limits) noexcept;

 private:
  std::uint64_t time_ns_ = 0;
  std::uint64_t step_ns_ = 0;
  std::uint64_t stall_ns_ = 0;
  std::uint64_t device_ns_ = 0;
  double cpu_seconds_ = 0;
};

}  // namespace drapps
