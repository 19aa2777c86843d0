// Samples of an interval between two decisions, drawn from all that were made in it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "drapps/base/lane.h"
#include "drapps/source/learned.h"

namespace drapps::trace {

struct SampleRecord {
  std::uint64_t index = 0;     // of the record in its source
  std::uint64_t position = 0;  // in the epoch
  std::uint64_t bytes = 0;     // of the record
  Learned known = Learned::kNothing;
  std::uint64_t cpu_ns = 0;                            // CPU time of the threads that made it
  std::array<std::uint64_t, kLanes.size()> wall_ns{};  // on each lane; 0: it was not there
};

/// Each of the samples stands for `seen / samples.size()` of the interval's.
struct SampleBatch {
  std::uint64_t seen = 0;  // samples made in the interval
  std::vector<SampleRecord> samples;
};

}  // namespace drapps::trace
