// What a storage has done: counts that only rise, but for the reads that are under way.
#pragma once

#include <atomic>
#include <cstdint>

#include "drapps/base/histogram.h"

namespace drapps {

/// What a meter stood at when it was read. As of its histograms: what happened a moment ago may be missing, and what
/// was counted once is never taken back.
struct StorageCounts {
  std::uint64_t bytes = 0;
  std::uint64_t failures = 0;
  std::uint64_t refusals = 0;
  std::uint64_t retries = 0;
  std::int64_t in_flight = 0;
  HistogramCounts at_once;
  HistogramCounts waited;
};

/// Of all readers of one storage in this process. Written by any thread without a lock.
struct StorageMeter {
  std::atomic<std::uint64_t> bytes{0};     // of records that were read
  std::atomic<std::uint64_t> failures{0};  // reads that ended in an error
  std::atomic<std::uint64_t> refusals{0};  // answers that said: not now
  std::atomic<std::uint64_t> retries{0};
  std::atomic<std::int64_t> in_flight{0};  // reads that were asked for and have not ended
  Histogram at_once;                       // ns of reads that did not have to wait, which workers make themselves
  Histogram waited;                        // ns of the others, from the start of their I/O to its end

  StorageCounts counts() const noexcept {
    const auto now = [](const auto& count) { return count.load(std::memory_order_relaxed); };
    return {now(bytes), now(failures), now(refusals), now(retries), now(in_flight), at_once.counts(), waited.counts()};
  }
};

}  // namespace drapps
