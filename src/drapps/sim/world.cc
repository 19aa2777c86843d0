#include "drapps/sim/world.h"

namespace drapps::sim {

bool World::in_processes() const noexcept {
  const StageCost& python = workload.stages[kPythonStage];
  return python.cpu > 0 || python.sleep > 0;
}

bool World::storage_waits() const noexcept {
  const StorageModel& storage = machine.storage;
  if (in_processes()) return false;
  return storage.bandwidth > 0 || storage.connection > 0 || storage.latency > 0 || storage.seek > 0 ||
         storage.requests > 0 || (machine.network.bandwidth > 0 && machine.network.storage > 0);
}

}  // namespace drapps::sim
