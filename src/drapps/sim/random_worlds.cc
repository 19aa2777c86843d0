#include "drapps/sim/random_worlds.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

#include "drapps/base/exact_math.h"
#include "drapps/plant/knob_range.h"

namespace drapps::sim {
namespace {

double drawn(Draws& draws, double low, double high) {
  return low * exact::exp(draws.uniform() * exact::log(high / low));
}

}  // namespace

World random_world(Draws& draws) {
  World world;
  WorkloadModel& workload = world.workload;
  MachineModel& machine = world.machine;
  workload.batch = std::round(drawn(draws, 8, 256));
  workload.samples = std::round(drawn(draws, 1e4, 1e6));
  workload.sample_bytes = drawn(draws, 2e4, 1e6);
  workload.row_bytes = drawn(draws, 1e5, 1e6);
  machine.cores.count = std::round(drawn(draws, 2, 32));
  if (draws.coin(0.3)) machine.cores.foreign = std::round(draws.uniform(0, machine.cores.count));
  machine.cores.oversubscription = drawn(draws, 1e-3, 0.05);
  const bool python = draws.coin(0.33);
  if (python) {
    workload.stages[kPythonStage] = {.cpu = drawn(draws, 3e-4, 8e-3),
                                     .sleep = draws.coin(0.5) ? drawn(draws, 1e-3, 0.1) : 0,
                                     .cv = draws.uniform(0, 1)};
    machine.memory.process = drawn(draws, 5e6, 5e8);
  } else {
    workload.stages[kDecodeStage] = {.cpu = drawn(draws, 2e-4, 4e-3), .cv = draws.uniform(0, 1)};
    workload.stages[kAugmentStage] = {.cpu = drawn(draws, 1e-4, 4e-3), .cv = draws.uniform(0, 0.5)};
    workload.split = draws.coin(0.5) ? 2e-6 : 0;
  }
  double cpu = 0;
  for (const StageCost& stage : workload.stages) cpu += stage.cpu;
  const double throughput = machine.cores.count / cpu;
  if (!python && draws.coin(0.5)) {
    machine.storage.bandwidth = throughput * workload.sample_bytes * drawn(draws, 0.4, 6);
    machine.storage.latency = drawn(draws, 1e-4, 8e-3);
    machine.storage.latency_cv = draws.uniform(0, 1);
    if (draws.coin(0.3)) machine.storage.connection = drawn(draws, 2e7, 1e9);
    if (draws.coin(0.2)) machine.storage.requests = throughput * drawn(draws, 0.5, 4);
  }
  if (draws.coin(0.5)) {
    machine.gpu.count = 1;
    machine.gpu.host_slowdown = draws.uniform(0, 0.4);
    if (!python) {
      workload.stages[kDecodeStage].gpu = drawn(draws, 2e-5, 4e-4);
      workload.stages[kAugmentStage].gpu = drawn(draws, 5e-6, 1e-4);
    }
  }
  // One in eight does next to nothing with its batches.
  const bool idle = draws.coin(0.125);
  world.consumer.step = workload.batch / throughput * (idle ? drawn(draws, 1e-3, 0.3) : drawn(draws, 0.3, 3));
  world.consumer.step_cv = draws.uniform(0, 0.3);
  world.consumer.cpu = draws.uniform(0, 0.3);
  if (machine.cores.foreign > 0 && draws.coin(0.5)) machine.cores.grouped = 1;
  if (draws.coin(0.3)) workload.handover = drawn(draws, 1e-4, 5e-3);
  if (draws.coin(0.2)) {
    machine.remote = {.most = std::round(drawn(draws, 1, 8)),
                      .cores = std::round(drawn(draws, 1, 16)),
                      .start = 1,
                      .bandwidth = throughput * workload.row_bytes * drawn(draws, 0.3, 6)};
  }
  return world;
}

World world_like(World world, double spread, Draws& draws) {
  constexpr std::array<std::string_view, 11> kVaried{
      "bandwidth", "connection", "latency", "seek", "cpu", "sleep", "gpu", "step", "sample_bytes", "handover", "split"};
  visit_world(world, [&](std::string_view group, std::string_view name, double& value, double low, double high) {
    const bool varied = std::ranges::find(kVaried, name) != kVaried.end() && (group != "consumer" || name == "step");
    if (!varied || value <= 0) return;
    value = std::clamp(value * exact::exp(spread * exact::normal(draws.u32())), low, high);
  });
  return world;
}

Settings random_settings(const Limits& limits, Draws& draws) {
  Settings settings;
  for (const Knob& knob : knob_table()) {
    const KnobRange range(knob, limits);
    std::uint32_t notches = draws.below(static_cast<std::uint32_t>(range.place(range.high())) + 1);
    settings[knob.id] = range.low();
    for (; notches > 0; --notches) settings[knob.id] = range.up(settings[knob.id]);
  }
  settings.lane_weights = even_weights(limits.weighted);
  return settings;
}

}  // namespace drapps::sim
