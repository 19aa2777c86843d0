// What a sample takes in each stage of a plant, measured between decisions.
#pragma once

#include <cstdint>

#include "drapps/plant/plant.h"

namespace drapps {

/// Means over the last decisions, the latest ones most, and soon those that are twice what was before, or half. Plain
/// and trivially copyable: it lives in a policy's memory. Zero bytes have measured nothing yet.
struct StageTimes {
  /// @param memory  decisions over which is averaged.
  void take(const Observation& observation, double memory) noexcept;

  bool known() const noexcept { return rows > 0; }
  /// Whether bytes that were stored may be such times.
  bool sound() const noexcept;

  // s of a sample.
  double cpu = 0;    // on a core
  double sleep = 0;  // of a maker, without one and without waiting for one where that is known
  double train = 0;  // of the training, without its waits
  double read = 0;   // of a read that waits
  double rows = 0;   // samples of a batch
  double bytes = 0;  // of a record that is read; 0: none is
  double reads = 0;  // a second
  double share = 0;  // of the samples, those that are read so; the others are in some memory

  struct StageSums {
    std::uint64_t time_ns, samples, batches, step_ns, stall_ns, cpu_ns, wall_ns, reads, read_ns, bytes;
    // Wall time of Python code, and how often it was taken: once a batch of processes.
    std::uint64_t python_ns, pythons;
  };
  StageSums last{};  // at the observation before
};

}  // namespace drapps
