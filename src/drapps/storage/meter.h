// What a storage has done: counts that only rise, but for the reads that are under way.
#pragma once

#include <atomic>
#include <cstdint>

#include "drapps/base/histogram.h"

namespace drapps {

/// Of all readers of one storage in this process. Written by any thread without a lock.
struct StorageMeter {
  std::atomic<std::uint64_t> bytes{0};     // of records that were read
  std::atomic<std::uint64_t> failures{0};  // reads that ended in an error
  std::atomic<std::uint64_t> refusals{0};  // answers that said: not now
  std::atomic<std::uint64_t> retries{0};
  std::atomic<std::int64_t> in_flight{0};  // reads that were asked for and have not ended
  Histogram at_once;                       // ns of reads that did not have to wait, which workers make themselves
  Histogram waited;                        // ns of the others, from the start of their I/O to its end
};

}  // namespace drapps
