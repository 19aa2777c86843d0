// What the data plane counts about itself, written without locks and read by whoever wants to know.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "drapps/base/clock.h"
#include "drapps/base/histogram.h"
#include "drapps/base/lane.h"
#include "drapps/device/metered_stream.h"
#include "drapps/pipeline/large_samples.h"
#include "drapps/pipeline/sample_log.h"

namespace drapps {

/// What a lane measures of each sample. In the fetch lane, what waits are requests of a reader: its queue is all that
/// the reader has, waiting or under way, and the wait lasts until the I/O begins that brings the answer, pauses before
/// retries included. What workers read at once is in no queue, and counts in service alone.
struct LaneMetrics {
  Histogram service_wall;  // ns per sample
  Histogram service_cpu;   // ns of thread-CPU time per sample
  Histogram queue_length;  // samples that waited when one more arrived
  Histogram wait;          // ns that a sample waited
};

/// When something happened for the first time.
class FirstTime {
 public:
  void mark() noexcept {
    std::uint64_t never = 0;
    if (ns() == 0) ns_.compare_exchange_strong(never, monotonic_ns(), std::memory_order_relaxed);
  }
  /// When it happened, by the monotonic clock; 0 before.
  std::uint64_t ns() const noexcept { return ns_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> ns_{0};
};

struct Metrics {
  std::array<LaneMetrics, kLanes.size()> lanes;
  mutable SampleLog log;                    // whoever may look at it may say what it keeps
  mutable LargeSamples large;               // whoever may look at them may take them
  FirstTime read;                           // of a record, from where waiting is possible
  FirstTime first_sample;                   // of a sample
  std::atomic<std::uint64_t> helped_ns{0};  // that the taker worked at batches itself, inside next()
  std::atomic<std::uint64_t> batches{0};
  std::atomic<std::uint64_t> samples{0};
  device::DeviceCounters device;  // what makes batches there
  std::atomic<std::uint64_t> failed_samples{0};
  /// Thread-CPU ns inside decode, resize, colour and normalise calls of one sample in kKernelSampling.
  std::atomic<std::uint64_t> kernel_cpu_sampled{0};

  static constexpr std::uint64_t kKernelSampling = 16;

  LaneMetrics& operator[](std::size_t lane) noexcept { return lanes[lane]; }
  const LaneMetrics& operator[](std::size_t lane) const noexcept { return lanes[lane]; }
};

}  // namespace drapps
