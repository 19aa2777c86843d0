#include "drapps/policy/stage_times.h"

#include <algorithm>
#include <cmath>

#include "drapps/plant/meter_observation.h"

namespace drapps {
namespace {

constexpr double kOther = 2;  // times, from which something else is measured than before

bool makes_samples(const Lane& lane) noexcept {
  return lane.device == LaneDevice::kCpu && lane.role != LaneRole::kFetch && lane.role != LaneRole::kTransfer;
}

double seconds(std::uint64_t now, std::uint64_t before) noexcept { return static_cast<double>(now - before) * 1e-9; }

/// Worker processes that were ready to run and had no core, on average.
double waiting_for_cores(const Observation& observation) noexcept {
  const std::size_t place = place_of(kPlaces.tasks.processes_wait);
  return observation.meters.has(place) ? std::max(0.0, observation.meters.value(place)) : 0;
}

StageTimes::StageSums sums_of(const Observation& observation) noexcept {
  StageTimes::StageSums sums{.time_ns = observation.time_ns,
                             .samples = observation.samples,
                             .batches = observation.batches,
                             .step_ns = observation.consumer.step.sum,
                             .stall_ns = observation.consumer.stall.sum,
                             .cpu_ns = 0,
                             .wall_ns = 0,
                             .reads = observation.storage.waited.count,
                             .read_ns = observation.storage.waited.sum,
                             .bytes = observation.storage.bytes,
                             .python_ns = 0,
                             .pythons = 0};
  for (std::size_t i = 0; i < kLanes.size(); ++i) {
    if (!makes_samples(kLanes[i])) continue;
    const LaneObservation& lane = observation.lanes[i];
    sums.cpu_ns += lane.service_cpu.sum;
    const bool python = kLanes[i].role == LaneRole::kPython;
    (python ? sums.python_ns : sums.wall_ns) += lane.service_wall.sum;
    if (python) sums.pythons += lane.service_wall.count;
  }
  return sums;
}

}  // namespace

void StageTimes::take(const Observation& observation, double memory) noexcept {
  const StageSums now = sums_of(observation);
  const StageSums before = last;
  last = now;
  const bool goes_on = now.time_ns > before.time_ns && before.time_ns != 0 && now.samples > before.samples &&
                       now.batches > before.batches && now.step_ns >= before.step_ns &&
                       now.stall_ns >= before.stall_ns && now.cpu_ns >= before.cpu_ns &&
                       now.wall_ns >= before.wall_ns && now.python_ns >= before.python_ns &&
                       now.pythons >= before.pythons && now.reads >= before.reads && now.read_ns >= before.read_ns &&
                       now.bytes >= before.bytes;
  if (!goes_on) return;
  const auto samples = static_cast<double>(now.samples - before.samples);
  const auto batches = static_cast<double>(now.batches - before.batches);
  const auto asked = static_cast<double>(now.reads - before.reads);
  const double weight = known() ? 1 / memory : 1;
  const auto mix = [&](double& value, double fresh) {
    fresh = std::max(0.0, fresh);
    const bool other = fresh > kOther * value || value > kOther * fresh;
    value += (other ? std::max(weight, 0.5) : weight) * (fresh - value);
  };
  const double on_cores = seconds(now.cpu_ns, before.cpu_ns) / samples;
  mix(cpu, on_cores);
  const auto pythons = static_cast<double>(now.pythons - before.pythons);
  const double in_python = pythons > 0 ? seconds(now.python_ns, before.python_ns) / pythons : 0;
  const double queued =
      pythons > 0 ? waiting_for_cores(observation) * seconds(now.time_ns, before.time_ns) / samples : 0;
  mix(sleep, seconds(now.wall_ns, before.wall_ns) / samples + in_python - on_cores - queued);
  mix(train, (seconds(now.step_ns, before.step_ns) - seconds(now.stall_ns, before.stall_ns)) / samples);
  if (asked > 0) {
    mix(read, seconds(now.read_ns, before.read_ns) / asked);
    mix(bytes, static_cast<double>(now.bytes - before.bytes) / asked);
  }
  mix(reads, asked / seconds(now.time_ns, before.time_ns));
  mix(share, std::min(1.0, asked / samples));
  mix(rows, samples / batches);
}

bool StageTimes::sound() const noexcept {
  const auto fits = [](double value) { return std::isfinite(value) && value >= 0; };
  return fits(cpu) && fits(sleep) && fits(train) && fits(read) && fits(rows) && fits(bytes) && fits(reads) &&
         fits(share);
}

}  // namespace drapps
