// How many reads at once a loader asks its storage for: what is counted of reads that had to wait says so.
//
// As many have to be under way as are asked for in the time that one takes (Little's law): rate × latency. The rate is
// what the workers could prepare, by the CPU time of a sample, or what the consumer takes, by the time that it keeps a
// batch for itself, whichever is less; times the reads that a sample takes, where no lane fetches samples one by one.
// The latency is the mean of the reads.
#pragma once

#include <cstdint>
#include <optional>

#include "drapps/plant/policy.h"

namespace drapps {

/// Counts of an observation, from which on something is metered.
struct ReadMark {
  std::uint64_t reads, read_ns, samples, steps, step_ns, stall_ns, refusals;
};

ReadMark read_mark(const Observation& seen) noexcept;

/// Whether some count has gone back: it is another plant.
bool is_another(const ReadMark& now, const ReadMark& before) noexcept;

/// What was metered.
struct ReadMeter {
  double rate, latency_s;  // samples per second, and what a read takes
  double rows;             // of a batch
  double reads_each = 1;   // of a sample: a record is one, a row of text may be many, or one of many

  double reads() const noexcept { return rate * reads_each * latency_s; }
};

inline constexpr std::uint64_t kMeteredReads = 64;

/// Meters the reads between a mark and an observation. Nothing where they say too little.
std::optional<ReadMeter> meter_reads(const ReadMark& since, const Observation& seen, const Limits& limits) noexcept;

/// The settings with an I/O depth of two and a half times metered.reads(), and with batches enough under way to hold
/// these reads, beside the one that is taken next; neither is brought below where it stands, or beyond the limits. A
/// depth is the next one on its grid.
Settings deep_enough(const Settings& settings, const ReadMeter& metered, const Limits& limits) noexcept;

}  // namespace drapps
