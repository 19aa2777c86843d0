// Where the I/O depth begins to be right: what the first reads that had to wait say about it.
//
// 1. Metering. From the first decision that knows of a read which had to wait, to the first one that knows of 64 more.
//    A policy that tries knobs may end it earlier.
// 2. As many reads have to be under way as are asked for in the time that one takes (Little's law): rate × latency, two
//    and a half times, since the first samples take longest and neither is even. Where the storage has refused requests
//    meanwhile, more of them are no help: the start ends. The rate is what the workers could prepare, by the CPU time
//    of a sample, or what the consumer takes, by the time that it keeps a batch for itself, whichever is less. The
//    latency is the mean of the metered reads. The depth is the next one on the grid.
// 3. The samples under way lie in batches under way: as many as hold the depth, and the one that is taken next.
// 4. Both are proposed until they are in force, for at most so many decisions, and never less than what stands. Then
//    the start has ended, for good: deeper queues make the latency of a storage longer that has nothing more to give,
//    and who followed it would only ever go up.
#pragma once

#include <cstdint>
#include <optional>

#include "drapps/plant/policy.h"

namespace drapps {

/// What a policy remembers of it. Plain and trivially copyable; zero bytes are its beginning.
struct Start {
  enum class Phase : std::uint8_t { kMeter, kMove, kEnded };

  /// Counts at the first decision of the metering.
  struct Mark {
    std::uint64_t reads, read_ns, steps, step_ns, stall_ns, refusals;
  };

  Phase phase;
  std::uint32_t asked;  // decisions in which the knobs were asked to move
  Mark mark;
  double rate, latency_s;  // samples per second, and what a read takes; what was metered
  double rows;             // of a batch
};

inline constexpr std::uint64_t kMeteredReads = 64;

/// What the start proposes now, and why; nothing where it has nothing to say. It moves only the two knobs.
std::optional<Settings> start_depths(Start& start, const Observation& observation, PolicyState& state);

}  // namespace drapps
