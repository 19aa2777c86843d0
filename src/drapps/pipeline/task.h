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

/// Owned by the executor, lent to one thread at a time. It is its own request for the record's bytes.
struct SampleTask : Sample {
  explicit SampleTask(MemoryLedger& ledger) : buffers{Buffer(ledger), Buffer(ledger), Buffer(ledger), Buffer(ledger)} {
    static_assert(kMaxParts == 4);
    for (std::size_t part = 0; part < kMaxParts; ++part) into[part] = &buffers[part];
  }

  std::array<Buffer, kMaxParts> buffers;
  std::uint64_t step = 0;  // of the epoch
  std::uint32_t row_in_batch = 0;
  bool fresh = true;                // its bytes have not been read
  bool read_failed = false;         // the reader tried, and an error is what came back
  std::uint32_t replacements = 0;   // samples that were tried in its place
  std::byte* slot = nullptr;        // of its batch
  bool fused = true;                // by which of the plan's lists of lanes it is made
  bool inside = false;              // that list has several, and it has entered
  std::size_t lane = 0;             // of that list, which works on it
  std::size_t place = 0;            // in kLanes, of the lane that it is a job of
  std::uint64_t starved_ns = 0;     // since when it keeps the consumer waiting for memory, 0 while it does not
  std::uint64_t queued_ns = 0;      // when it joined the queue it waits in
  std::uint64_t begun_ns = 0;       // when the late lane began that has it
  std::uint64_t kernel_cpu_ns = 0;  // of this sample, where it is one of those measured
  bool measured = false;
  std::array<std::uint64_t, kLanes.size()> service_ns{};  // wall time, by lane
  std::uint64_t service_cpu_ns = 0;                       // of all lanes

  void served(std::size_t place_of_lane, const LaneTime& time) noexcept {
    service_ns[place_of_lane] += time.wall_ns;
    service_cpu_ns += time.cpu_ns;
  }
};

}  // namespace drapps
