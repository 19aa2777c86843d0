// What a policy steers. The live pipeline is a plant, and so is a simulator: a policy cannot tell them apart.
#pragma once

#include <array>
#include <bitset>
#include <cstdint>

#include "drapps/base/histogram.h"
#include "drapps/base/knob.h"
#include "drapps/base/lane.h"
#include "drapps/pipeline/metrics.h"

namespace drapps {

/// One lane since the plant was made: counts only ever rise, so two observations subtract.
struct LaneObservation {
  bool valid = false;            // the plan has this lane, and it is in use now
  HistogramCounts service_wall;  // ns per sample
  HistogramCounts service_cpu;   // ns of thread-CPU time per sample
  HistogramCounts queue_length;  // samples waiting, seen at each arrival
  HistogramCounts wait;          // ns a sample waited in the queue
};

/// Worker processes that make the samples; all zeros where threads of this process do. Counts only ever rise.
struct ProcessObservation {
  std::int32_t starting = 0;  // have made nothing yet, or are not there yet
  std::int32_t leaving = 0;   // were retired and have not ended yet, or are still to be retired
  std::uint64_t made = 0;     // samples, and batches as such: some datasets make whole ones
  // CPU time that they used, or would have without waiting for the budget.
  std::uint64_t demand_ns = 0;
  // Time for which cores that they may run on had nothing to do at all, summed; 0 where the machine does not say.
  std::uint64_t idle_cores_ns = 0;
  std::uint64_t idle = 0;  // times that they had nothing to do for a while
};

/// Whether a policy may try something. Of the loaders of a process one does at a time, so that none takes the effect of
/// another's for its own.
enum class Turn : std::uint8_t {
  kOpen,   // a trial may begin or go on
  kAsked,  // one that has begun goes on, but none begins: another loader waits for its turn
  kTaken,  // another loader's trial is under way
};

/// One consistent copy of everything a policy may look at.
struct Observation {
  std::uint64_t time_ns = 0;  // monotonic clock at which it was taken
  std::uint64_t passes = 0;   // that have taken their first step so far
  std::uint64_t batches = 0;  // batches delivered so far
  std::uint64_t samples = 0;  // rows delivered so far; of worker processes those made
  HistogramCounts step;       // ns between the consumer's calls of next(): its step and its wait
  HistogramCounts stall;      // ns the consumer waited inside next()
  std::array<LaneObservation, kLanes.size()> lanes;
  ProcessObservation processes;
  Settings settings;                // in force at time_ns
  std::uint32_t ready_batches = 0;  // finished, not yet taken
  Upcoming upcoming;                // of the passes that are under way
  std::uint64_t memory_used = 0;    // bytes of the RAM budget in use
  double process_cpu_seconds = 0;   // CPU time of the whole process
  bool finished = false;            // no pass is under way
  Turn turn = Turn::kOpen;
};

/// What a knob may be: a low that is the high pins it. Both are 0 where the plant has no such knob.
struct Bounds {
  std::int32_t low = 0;
  std::int32_t high = 0;
  bool operator==(const Bounds&) const = default;
};

/// The limits within which knobs may move.
struct Limits {
  std::array<Bounds, kKnobs> knobs{};
  LaneSet weighted;  // lanes that share the workers of a split plan
  double cpus = 0;   // cores of the CPU budget

  Bounds& operator[](KnobId id) noexcept { return knobs[static_cast<std::size_t>(id)]; }
  const Bounds& operator[](KnobId id) const noexcept { return knobs[static_cast<std::size_t>(id)]; }
  bool operator==(const Limits&) const = default;
};

/// observe() and apply() may be called from one control thread while the plant runs.
class Plant {
 public:
  virtual ~Plant() = default;
  /// They may change while it runs.
  virtual Limits limits() const = 0;
  virtual Observation observe() const = 0;
  /// Moves the knobs. Never changes the data that comes out, only when.
  virtual void apply(const Settings& settings) = 0;
};

}  // namespace drapps
