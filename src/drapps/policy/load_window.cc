#include "drapps/policy/load_window.h"

#include <algorithm>

namespace drapps {

Load LoadWindow::next(const Observation& observation, const Limits& limits) noexcept {
  Load load;
  const std::uint64_t step_ns = observation.consumer.step.sum;
  const std::uint64_t stall_ns = observation.consumer.stall.sum;
  const bool same = time_ns_ != 0 && observation.time_ns > time_ns_ && step_ns > step_ns_ && stall_ns >= stall_ns_ &&
                    observation.process_cpu_seconds >= cpu_seconds_;
  if (same) {
    const auto share = [](double part, double whole) { return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0; };
    const double seconds = static_cast<double>(observation.time_ns - time_ns_) * 1e-9;
    load.known = true;
    load.stall = share(static_cast<double>(stall_ns - stall_ns_), static_cast<double>(step_ns - step_ns_));
    const std::size_t cpu = place_of(kPlaces.cpu.use_mean);
    load.cpu = observation.meters.has(cpu)
                   ? std::clamp(observation.meters.value(cpu), 0.0, 1.0)
                   : share(observation.process_cpu_seconds - cpu_seconds_, seconds * std::max(limits.cpus, 0.0));
    const std::size_t gpu = place_of(kPlaces.gpu.mean.use);
    load.gpu_known = observation.meters.has(gpu);
    load.gpu = load.gpu_known ? std::clamp(observation.meters.value(gpu), 0.0, 1.0) : 0;
  }
  time_ns_ = observation.time_ns;
  step_ns_ = step_ns;
  stall_ns_ = stall_ns;
  cpu_seconds_ = observation.process_cpu_seconds;
  return load;
}

}  // namespace drapps
