// One sample under way.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "drapps/base/lane.h"
#include "drapps/data/buffer.h"
#include "drapps/exec/worker_time.h"
#include "drapps/modality/modality.h"

namespace drapps {

/// Owned by the executor, lent to one thread at a time. What a stage knows of the sample is one value; a new sample
/// begins with new ones.
struct SampleTask {
  /// The reader gives it back, and so the task that it belongs to.
  struct TaskRead : ReadRequest {
    SampleTask* task = nullptr;
  };
  /// Where its row is.
  struct RowPlace {
    std::uint64_t step = 0;  // of the epoch
    std::uint32_t row = 0;   // of the batch
    std::byte* slot = nullptr;
  };
  /// How far its bytes have come.
  struct FetchProgress {
    bool fresh = true;               // they have not been read
    bool failed = false;             // the reader tried, and an error is what came back
    bool tried = false;              // a worker has read it without waiting, which is to be noted
    std::uint32_t replacements = 0;  // samples that were tried in its place
    std::uint64_t starved_ns = 0;    // since when it keeps the consumer waiting for memory, 0 while it does not
  };
  /// Where it is on its way through the lanes.
  struct LanePosition {
    bool fused = true;            // by which of the plan's lists of lanes it is made
    bool inside = false;          // that list has several, and it has entered
    std::size_t lane = 0;         // of that list, which works on it
    std::size_t place = 0;        // in kLanes, of the lane that it is a job of
    std::uint64_t queued_ns = 0;  // when it joined the queue it waits in
    std::uint64_t unpaid_ns = 0;  // of service that is still to be booked to the lane that it is a job of
  };
  /// Whether a device decodes it.
  struct LateProgress {
    bool wanted = false;         // the worker that has it offers it to the device
    bool augment = false;        // to be augmented there, too
    bool tried = false;          // it was offered, and is not again
    std::uint64_t begun_ns = 0;  // when the device got it
  };
  /// What it took.
  struct TaskTimes {
    bool measured = false;                                  // its kernels, too
    std::uint64_t kernel_cpu_ns = 0;                        // of those
    std::array<std::uint64_t, kLanes.size()> service_ns{};  // wall time, by lane
    std::uint64_t service_cpu_ns = 0;                       // of all lanes

    void served(std::size_t place_of_lane, const LaneTime& time) noexcept {
      service_ns[place_of_lane] += time.wall_ns;
      service_cpu_ns += time.cpu_ns;
    }
  };

  explicit SampleTask(MemoryLedger& ledger) : buffers{Buffer(ledger), Buffer(ledger), Buffer(ledger), Buffer(ledger)} {
    static_assert(kMaxParts == 4);
    for (std::size_t part = 0; part < kMaxParts; ++part) read.into[part] = &buffers[part];
    read.task = this;
    sample.read = &read;
  }
  SampleTask(const SampleTask&) = delete;
  SampleTask& operator=(const SampleTask&) = delete;
  ~SampleTask() = default;

  /// A new sample; its workspace and its buffers stay.
  void begin(const Asked& asked, const RowPlace& at, bool measured) noexcept {
    sample.asked = asked;
    sample.decoded = {};
    sample.row_there = nullptr;
    place = at;
    fetch = {};
    late = {};
    times = {.measured = measured};
  }

  std::array<Buffer, kMaxParts> buffers;
  TaskRead read;
  Sample sample;
  RowPlace place;
  FetchProgress fetch;
  LateProgress late;
  LanePosition way;
  TaskTimes times;
};

}  // namespace drapps
