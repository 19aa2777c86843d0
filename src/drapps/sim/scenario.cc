#include "drapps/sim/scenario.h"

#include <algorithm>
#include <cmath>

#include "drapps/plant/knob_range.h"

namespace drapps::sim {
namespace {

constexpr double kMostReads = 256;
constexpr double kMostBatches = 32;
constexpr double kMostProcesses = 64;  // per core

std::int32_t most_of(double value) noexcept { return static_cast<std::int32_t>(value); }

}  // namespace

Limits limits_of(const World& world) noexcept {
  const MachineModel& machine = world.machine;
  const WorkloadModel& workload = world.workload;
  const double cores =
      machine.cores.budget > 0 ? std::min(machine.cores.budget, machine.cores.count) : machine.cores.count;
  const double half = machine.memory.limit / 2;
  if (world.in_processes()) {
    const double fitting = machine.memory.process > 0 ? half / machine.memory.process : kMostProcesses * cores;
    Limits limits;
    limits[KnobId::kProcesses] = {1, most_of(std::clamp(fitting, 1.0, std::ceil(kMostProcesses * cores)))};
    limits[KnobId::kRemoteWorkers] = {0, most_of(machine.remote.most)};
    limits.cpus = cores;
    return limits;
  }
  const double reads = world.storage_waits() ? std::clamp(half / (2 * workload.sample_bytes), 1.0, kMostReads) : 1;
  const double ahead = std::clamp(half / (workload.batch * workload.row_bytes), 1.0, kMostBatches);
  Limits limits =
      native_limits(most_of(std::max(1.0, std::ceil(cores))), most_of(reads), most_of(ahead), workload.split > 0);
  const auto on_gpu = [&](WorkStage stage) {
    return Bounds{0, machine.gpu.count > 0 && workload.stages[stage].gpu > 0 ? kWeightUnit : 0};
  };
  limits[KnobId::kDecodeOnGpu] = on_gpu(kDecodeStage);
  limits[KnobId::kAugmentOnGpu] = on_gpu(kAugmentStage);
  if (machine.memory.cache > 0) limits[KnobId::kForm] = {0, static_cast<std::int32_t>(cache::kForms) - 1};
  limits[KnobId::kRemoteWorkers] = {0, most_of(machine.remote.most)};
  if (workload.split > 0) {
    for (std::size_t stage = 0; stage < kStages.size(); ++stage) {
      if (workload.stages[stage].cpu > 0 || stage == kCollateStage) limits.weighted[lane_place(kStages[stage])] = true;
    }
  }
  limits.cpus = cores;
  return limits;
}

}  // namespace drapps::sim
