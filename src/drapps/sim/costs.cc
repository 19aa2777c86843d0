#include "drapps/sim/costs.h"

#include <algorithm>
#include <cmath>

namespace drapps::sim {
namespace {

constexpr double kAhead = 16;              // batches that are asked for ahead where nobody says how many
constexpr double kCheapBytes = 128 << 20;  // of batches that worker processes make ahead

double share_of(const Settings& settings, KnobId id) noexcept {
  return std::clamp(static_cast<double>(settings[id]) / kWeightUnit, 0.0, 1.0);
}

}  // namespace

SampleCost cost_of(const World& world, const Settings& settings, const Condition& condition) noexcept {
  const WorkloadModel& workload = world.workload;
  const bool gpu = world.machine.gpu.count > 0;
  const auto form_at =
      static_cast<std::size_t>(std::clamp<std::int32_t>(settings[KnobId::kForm], 0, cache::kForms - 1));
  const FormCost& form = workload.forms[form_at];
  const bool decoded = cache::is_array(static_cast<cache::FormId>(form_at));  // what is kept needs no decoder
  const double cached = form.bytes > 0 ? condition.cached : 0;

  SampleCost cost;
  const auto add = [&](WorkStage at, double share_on_gpu, double times) {
    const StageCost& stage = workload.stages[at];
    const double on_gpu = gpu && stage.gpu > 0 ? share_on_gpu : 0;
    cost.cpu[at] += stage.cpu * times * (1 - on_gpu) * condition.work;
    cost.sleep += stage.sleep * times * (1 - on_gpu);
    cost.gpu += stage.gpu * times * on_gpu;
    const double seconds = (stage.cpu * condition.work + stage.sleep) * times * (1 - on_gpu);
    cost.variance += seconds * seconds * stage.cv * stage.cv;
    return on_gpu;
  };
  // What the cache has as an array is not decoded, on any device.
  const double to_decode = decoded ? 1 - cached : 1;
  const double decoded_on_gpu = add(kDecodeStage, share_of(settings, KnobId::kDecodeOnGpu), to_decode);
  if (cached > 0 && (decoded || form.cpu > 0)) {
    const double kept = form.cpu * cached * condition.work;
    cost.cpu[kDecodeStage] += kept;
    if (!decoded) {  // a cheaper decoding in the place of that of bytes
      cost.cpu[kDecodeStage] -= workload.stages[kDecodeStage].cpu * cached * (1 - decoded_on_gpu) * condition.work;
    }
  }
  if (condition.filling) cost.cpu[kDecodeStage] += form.encode * (1 - cached) * condition.work;
  const double augmented_on_gpu = add(kAugmentStage, share_of(settings, KnobId::kAugmentOnGpu), 1);
  add(kTokeniseStage, 0, 1);
  add(kPythonStage, 0, 1);
  add(kCollateStage, 0, 1);
  if (settings[KnobId::kFused] == 0) cost.cpu[kCollateStage] += workload.split * condition.work;
  for (const double cpu : cost.cpu) cost.cpu_sum += cpu;

  if (gpu) {
    // Decoded there and augmented here, a sample goes there and back.
    const double back = std::max(0.0, decoded_on_gpu * to_decode - augmented_on_gpu);
    cost.copied = workload.row_bytes * (1 - decoded_on_gpu * to_decode) +
                  workload.sample_bytes * decoded_on_gpu * to_decode + 2 * workload.row_bytes * back;
  }
  cost.read = world.storage_waits() ? (1 - cached) * (1 - condition.resident) : 0;
  return cost;
}

double speed_of(const CoreModel& cores, double runnable) noexcept {
  const double all = runnable + cores.foreign;
  if (all <= cores.count || runnable <= 0) return 1;
  const double evenly = cores.count * runnable / all;
  // A foreign thread takes no more than a core, whatever its share.
  const double as_group = std::max(cores.count - cores.foreign, cores.count / (1 + cores.foreign));
  const double had = evenly + cores.grouped * (std::min(runnable, as_group) - evenly);
  return std::min(1.0, had / runnable) / (1 + cores.oversubscription * (all / cores.count - 1));
}

double window_of(const World& world, const Settings& settings) noexcept {
  if (!world.in_processes()) return std::max(1, settings[KnobId::kPrefetchDepth]);
  // Two samples for each; and two batches, as far as these take little memory.
  const double two = 2.0 * std::max(1, settings[KnobId::kProcesses]);
  const double batch = world.workload.batch;
  const double cheap = std::floor(kCheapBytes / std::max(1.0, batch * world.workload.row_bytes));
  return std::max({kAhead, std::ceil(two / batch), std::min(two, cheap)});
}

double reads_in_flight(const World& world, const Settings& settings, double read) noexcept {
  const double window = window_of(world, settings) * world.workload.batch * read;
  return std::max(1.0, std::min(static_cast<double>(settings[KnobId::kIoDepth]), window));
}

double bandwidth_of(const World& world, double in_flight) noexcept {
  const StorageModel& storage = world.machine.storage;
  const double ranks = world.machine.ranks.count;
  const NetworkModel& network = world.machine.network;
  const double link = network.storage > 0 ? network.bandwidth : 0;
  if (storage.bandwidth <= 0) return link / ranks;
  double whole = storage.bandwidth;
  if (storage.knee > 0 && in_flight * ranks > storage.knee) {
    whole *= std::max(0.05, 1 - storage.beyond_knee * std::log2(in_flight * ranks / storage.knee));
  }
  return (link > 0 ? std::min(whole, link) : whole) / ranks;
}

double expected_maximum(double count) noexcept { return count <= 1 ? 0 : 0.564 * std::pow(std::log2(count), 0.8); }

double longest_of(double count, double cv) noexcept {
  if (count <= 1) return 1;
  const double deviates = expected_maximum(count);
  return 1 + cv * std::max(0.0, deviates + cv * (deviates * deviates - 1) / 3);
}

double step_of(const World& world, const Condition& condition, double busy_share, double speed) noexcept {
  const ConsumerModel& consumer = world.consumer;
  const GpuModel& gpu = world.machine.gpu;
  const RankModel& ranks = world.machine.ranks;
  const double host = std::max(0.0, busy_share - gpu.host_free) / (1 - gpu.host_free);
  const double device = consumer.step * (1 - consumer.cpu) * (1 + gpu.host_slowdown * host);
  const double step = device + consumer.step * consumer.cpu / speed;
  return step * condition.step * (1 + ranks.spread * expected_maximum(ranks.count));
}

}  // namespace drapps::sim
