// What a simulated plant consists of: a machine, what is loaded on it, and who takes the batches.
//
// Plain values in SI units: seconds, bytes, and their quotients; cores may be fractions. What is 0 is not there or has
// no limit, as each field says. One list, visit_world(), names every number: files are read and written by it, and
// whoever asks how much a conclusion hangs on a number changes it there.
//
// A plant is one loader that feeds one rank. Where a machine has several, each rank has its share of what they share.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "drapps/base/lane.h"
#include "drapps/cache/form/form.h"

namespace drapps::sim {

/// Cores that the loader may run on.
struct CoreModel {
  double count = 2;                // of the machine
  double budget = 0;               // that the loader may use; 0: all
  double foreign = 0;              // threads of others that always want one
  double grouped = 0;              // 1: each foreign thread gets as much as the loader's together; 0: as one of them
  double oversubscription = 0.02;  // share of its speed that each thread loses for each runnable one too many per core
};

/// Where records come from that are in no memory. Reads wait where any number but `knee` is set.
struct StorageModel {
  double bandwidth = 0;    // bytes/s of all reads together; 0: no limit
  double connection = 0;   // bytes/s of one read; 0: no limit
  double latency = 0;      // s until a read's first byte, in the mean
  double latency_cv = 0;   // standard deviation of the latency, as a share of it
  double seek = 0;         // s in which a read has the device alone
  double requests = 0;     // a second; what is beyond is refused; 0: no limit
  double knee = 0;         // reads in flight beyond which all become slower; 0: there is none
  double beyond_knee = 0;  // share of the bandwidth lost with twice as many reads in flight as `knee`
};

/// What comes into the machine, for all of its ranks together.
struct NetworkModel {
  double bandwidth = 0;  // bytes/s; 0: no limit
  double storage = 0;    // 1: records come over it
};

struct MemoryModel {
  double limit = 16e9;      // bytes of the RAM budget
  double page_cache = 0;    // bytes of records that the system keeps beside the budget
  double bandwidth = 10e9;  // bytes/s at which one core copies
  double cache = 0;         // bytes of the loader's own cache
  double process = 300e6;   // bytes of a worker process
};

/// Accelerators that train.
struct GpuModel {
  double count = 0;
  double copy = 12e9;        // bytes/s from the host, of each
  double host_slowdown = 0;  // share by which a step is longer where the host's cores are all busy
  double host_free = 0.4;    // share of busy cores up to which a step is not longer
};

/// Ranks train in step: each step ends when the last one's has.
struct RankModel {
  double count = 1;   // that share storage and network
  double spread = 0;  // standard deviation of a rank's step, as a share of it
};

/// Machines that prepare samples and send them.
struct RemoteModel {
  double most = 0;         // machines that there may be
  double cores = 4;        // of each
  double start = 30;       // s until one works
  double bandwidth = 1e9;  // bytes/s into this machine, of all together
  double cost = 0;         // of one machine for an hour, in whatever money
};

struct PowerModel {
  double idle = 0;      // W of the machine
  double core = 0;      // W of a busy core
  double gpu_idle = 0;  // W of an accelerator
  double gpu_busy = 0;
};

struct MachineModel {
  CoreModel cores;
  StorageModel storage;
  NetworkModel network;
  MemoryModel memory;
  GpuModel gpu;
  RankModel ranks;
  RemoteModel remote;
  PowerModel power;
};

/// What a sample costs in one stage.
struct StageCost {
  double cpu = 0;    // s of a core
  double sleep = 0;  // s that it waits for something else meanwhile
  double gpu = 0;    // s of an accelerator, where it is done there; 0: it cannot be
  double cv = 0;     // standard deviation of the time, as a share of it
};

/// What a sample takes that is kept in some form.
struct FormCost {
  double bytes = 0;   // 0: samples cannot be kept so
  double cpu = 0;     // s in the place of decoding
  double encode = 0;  // s, once, when it is kept
};

inline constexpr std::array kStages{LaneRole::kDecode, LaneRole::kAugment, LaneRole::kTokenise, LaneRole::kPython,
                                    LaneRole::kCollate};
enum WorkStage : std::size_t { kDecodeStage, kAugmentStage, kTokeniseStage, kPythonStage, kCollateStage };

struct WorkloadModel {
  double batch = 64;          // samples
  double samples = 65536;     // of an epoch
  double sample_bytes = 1e5;  // of a record
  double row_bytes = 6e5;     // of a sample in a batch
  std::array<StageCost, kStages.size()> stages{};
  std::array<FormCost, cache::kForms> forms{};
  double split = 0;       // s of a core that handing a sample from lane to lane takes in a split plan
  double caps = 0;        // 1: a lane of a split plan has no more than its sixteenths of the makers
  double handover = 0;    // s from a batch's last row until the next may take its place in a window that is full
  double noise = 0;       // standard deviation of what slowly varies in all times, as a share
  double noise_time = 2;  // s in which the noise is forgotten
};

struct ConsumerModel {
  double step = 0;         // s of a training step that waits for nothing; 0: batches are taken as they come
  double step_cv = 0;      // standard deviation of a step, as a share
  double cpu = 0;          // share of the step that is spent on a core
  double pause = 0;        // s of a pause for validation or a checkpoint
  double pause_every = 0;  // s of training between two; 0: there are none
};

struct World {
  MachineModel machine;
  WorkloadModel workload;
  ConsumerModel consumer;

  bool in_processes() const noexcept;   // Python code makes the samples, in worker processes
  bool storage_waits() const noexcept;  // what Python code reads for itself is part of its sleep
};

/// Calls visit(group, name, value&, low, high) for each number of a world, const or not, in a fixed order; the value
/// lies within the two.
template <class W, class Visit>
constexpr void visit_world(W& world, const Visit& visit) {
  constexpr double kTime = 3600;
  constexpr double kBytes = 1e18;
  constexpr double kMany = 1e12;
  auto& cores = world.machine.cores;
  visit("cores", "count", cores.count, 0.05, 4096.0);
  visit("cores", "budget", cores.budget, 0.0, 4096.0);
  visit("cores", "foreign", cores.foreign, 0.0, 4096.0);
  visit("cores", "grouped", cores.grouped, 0.0, 1.0);
  visit("cores", "oversubscription", cores.oversubscription, 0.0, 1.0);
  auto& storage = world.machine.storage;
  visit("storage", "bandwidth", storage.bandwidth, 0.0, kBytes);
  visit("storage", "connection", storage.connection, 0.0, kBytes);
  visit("storage", "latency", storage.latency, 0.0, kTime);
  visit("storage", "latency_cv", storage.latency_cv, 0.0, 10.0);
  visit("storage", "seek", storage.seek, 0.0, kTime);
  visit("storage", "requests", storage.requests, 0.0, kMany);
  visit("storage", "knee", storage.knee, 0.0, kMany);
  visit("storage", "beyond_knee", storage.beyond_knee, 0.0, 0.9);
  auto& network = world.machine.network;
  visit("network", "bandwidth", network.bandwidth, 0.0, kBytes);
  visit("network", "storage", network.storage, 0.0, 1.0);
  auto& memory = world.machine.memory;
  visit("memory", "limit", memory.limit, 1e6, kBytes);
  visit("memory", "page_cache", memory.page_cache, 0.0, kBytes);
  visit("memory", "bandwidth", memory.bandwidth, 1e6, kBytes);
  visit("memory", "cache", memory.cache, 0.0, kBytes);
  visit("memory", "process", memory.process, 0.0, kBytes);
  auto& gpu = world.machine.gpu;
  visit("gpu", "count", gpu.count, 0.0, 1e6);
  visit("gpu", "copy", gpu.copy, 1e6, kBytes);
  visit("gpu", "host_slowdown", gpu.host_slowdown, 0.0, 10.0);
  visit("gpu", "host_free", gpu.host_free, 0.0, 0.99);
  auto& ranks = world.machine.ranks;
  visit("ranks", "count", ranks.count, 1.0, 1e6);
  visit("ranks", "spread", ranks.spread, 0.0, 1.0);
  auto& remote = world.machine.remote;
  visit("remote", "most", remote.most, 0.0, 64.0);
  visit("remote", "cores", remote.cores, 0.05, 4096.0);
  visit("remote", "start", remote.start, 0.0, kTime);
  visit("remote", "bandwidth", remote.bandwidth, 1e3, kBytes);
  visit("remote", "cost", remote.cost, 0.0, kMany);
  auto& power = world.machine.power;
  visit("power", "idle", power.idle, 0.0, 1e6);
  visit("power", "core", power.core, 0.0, 1e4);
  visit("power", "gpu_idle", power.gpu_idle, 0.0, 1e5);
  visit("power", "gpu_busy", power.gpu_busy, 0.0, 1e5);
  auto& workload = world.workload;
  visit("workload", "batch", workload.batch, 1.0, 1e6);
  visit("workload", "samples", workload.samples, 1.0, kMany);
  visit("workload", "sample_bytes", workload.sample_bytes, 1.0, kBytes);
  visit("workload", "row_bytes", workload.row_bytes, 1.0, kBytes);
  for (std::size_t i = 0; i < kStages.size(); ++i) {
    constexpr std::array<std::string_view, kStages.size()> kNames{"decode", "augment", "tokenise", "python", "collate"};
    auto& stage = workload.stages[i];
    visit(kNames[i], "cpu", stage.cpu, 0.0, kTime);
    visit(kNames[i], "sleep", stage.sleep, 0.0, kTime);
    visit(kNames[i], "gpu", stage.gpu, 0.0, kTime);
    visit(kNames[i], "cv", stage.cv, 0.0, 10.0);
  }
  for (std::size_t i = 0; i < cache::kForms; ++i) {
    const std::string_view name = cache::name_of(static_cast<cache::FormId>(i));
    auto& form = workload.forms[i];
    visit(name, "bytes", form.bytes, 0.0, kBytes);
    visit(name, "cpu", form.cpu, 0.0, kTime);
    visit(name, "encode", form.encode, 0.0, kTime);
  }
  visit("workload", "split", workload.split, 0.0, kTime);
  visit("workload", "caps", workload.caps, 0.0, 1.0);
  visit("workload", "handover", workload.handover, 0.0, kTime);
  visit("workload", "noise", workload.noise, 0.0, 1.0);
  visit("workload", "noise_time", workload.noise_time, 0.01, kTime);
  auto& consumer = world.consumer;
  visit("consumer", "step", consumer.step, 0.0, kTime);
  visit("consumer", "step_cv", consumer.step_cv, 0.0, 10.0);
  visit("consumer", "cpu", consumer.cpu, 0.0, 1.0);
  visit("consumer", "pause", consumer.pause, 0.0, kTime);
  visit("consumer", "pause_every", consumer.pause_every, 0.0, 1e6);
}

}  // namespace drapps::sim
