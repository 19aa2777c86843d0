#include "drapps/policy/load_window.h"

#include <algorithm>

namespace drapps {

Load LoadWindow::next(const Observation& observation, const Limits& limits) noexcept {
  Load load;
  const std::uint64_t step_ns = observation.consumer.step.sum;
  const std::uint64_t stall_ns = observation.consumer.stall.sum;
  const std::uint64_t device_ns = observation.device.copy_ns + observation.device.kernel_ns;
  const bool same = time_ns_ != 0 && observation.time_ns > time_ns_ && step_ns > step_ns_ && stall_ns >= stall_ns_ &&
                    device_ns >= device_ns_ && observation.process_cpu_seconds >= cpu_seconds_;
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
    const bool metered = observation.meters.has(gpu);
    load.gpu_known = metered || limits[KnobId::kDecodeOnGpu].high > 0;
    load.gpu = metered ? std::clamp(observation.meters.value(gpu), 0.0, 1.0)
                       : share(static_cast<double>(device_ns - device_ns_) * 1e-9, seconds);
  }
  time_ns_ = observation.time_ns;
  step_ns_ = step_ns;
  stall_ns_ = stall_ns;
  device_ns_ = device_ns;
  cpu_seconds_ = observation.process_cpu_seconds;
  return load;
}

}  // namespace drapps
