// What a policy steers. The live pipeline is a plant, and so is a simulator: a policy cannot tell them apart.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "drapps/base/knob.h"
#include "drapps/base/lane.h"
#include "drapps/plant/meter_observation.h"
#include "drapps/plant/spread.h"
#include "drapps/source/upcoming.h"

namespace drapps {

/// What there is of one lane.
struct LaneObservation {
  bool valid = false;   // the plan has this lane, and it is in use now
  Spread service_wall;  // ns per sample
  Spread service_cpu;   // ns of thread-CPU time per sample
  Spread queue_length;  // samples waiting, seen at each arrival
  Spread wait;          // ns a sample waited in the queue
};

/// Where the time of those went that make samples, threads or worker processes, summed over them; work on lanes is in
/// LaneObservation. ns, since the plant was made or before: they are of all loaders of the process.
struct WorkerObservation {
  std::uint64_t workers = 0;     // alive now
  std::uint64_t wall_ns = 0;     // of all of them: the sum of all below, and of the lanes'
  std::uint64_t idle_ns = 0;     // had nothing to do
  std::uint64_t window_ns = 0;   // blocked: as many batches are under way as prefetch_depth allows
  std::uint64_t memory_ns = 0;   // blocked: samples wait for memory
  std::uint64_t storage_ns = 0;  // blocked: what is under way is still to be read
  std::uint64_t paused_ns = 0;   // the CPU budget was used up
  std::uint64_t other_ns = 0;    // scheduling
};

/// The storage that the records come from, as this process has used it.
struct StorageObservation {
  std::uint64_t bytes = 0;     // of records that were read
  std::uint64_t failures = 0;  // reads that ended in an error
  std::uint64_t refusals = 0;  // answers that said: not now
  std::uint64_t retries = 0;
  std::uint64_t in_flight = 0;  // reads that were asked for and have not ended
  Spread at_once;               // ns of reads that did not have to wait
  Spread waited;                // ns of the others
};

/// The device that makes batches, or samples of them: what this loader's streams did there, by their events. All zeros
/// where there is none. What others do on it is in the meters of GPUs.
struct DeviceObservation {
  std::uint64_t launches = 0;
  std::uint64_t bytes_in = 0;   // that were copied there
  std::uint64_t bytes_out = 0;  // and back
  std::uint64_t copy_ns = 0;    // of the device's time, for these
  std::uint64_t kernel_ns = 0;  // and for the launches
};

/// The one who takes the batches, at the outermost iterator.
struct ConsumerObservation {
  std::uint64_t passes = 0;      // that have taken their first step so far
  std::uint64_t samples = 0;     // that the batches of all counted steps were to have; 0 where that is not known
  Spread step;                   // ns from one call of next() to the following one: the training step and its wait
  Spread stall;                  // ns waited inside next(); the sum counts a wait that goes on
  std::uint64_t helped_ns = 0;   // worked at batches itself, inside next(); no part of a stall
  std::uint64_t between_ns = 0;  // between the end of a pass and the beginning of the next
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

/// One consistent copy of everything a policy may look at. Plain and of fixed size; fields.h lists what is in it.
struct Observation {
  std::uint64_t time_ns = 0;  // monotonic clock at which it was taken; 0: there is none
  std::uint64_t batches = 0;  // delivered so far
  std::uint64_t samples = 0;  // rows delivered so far; of worker processes samples, and batches as such, made
  ConsumerObservation consumer;
  std::array<LaneObservation, kLanes.size()> lanes;
  WorkerObservation workers;
  StorageObservation storage;
  DeviceObservation device;
  ProcessObservation processes;
  Settings settings;                // in force at time_ns
  std::uint32_t ready_batches = 0;  // finished, not yet taken
  Upcoming upcoming;                // of the passes that are under way
  std::uint64_t memory_used = 0;    // bytes of the RAM budget in use
  std::uint64_t memory_limit = 0;   // bytes of the RAM budget
  double process_cpu_seconds = 0;   // CPU time of the whole process
  MeterObservation meters;          // of the machine; all invalid where nobody reads them
  bool finished = false;            // no pass is under way
  Turn turn = Turn::kOpen;
};
static_assert(sizeof(Observation) <= 4096);

/// What is looked at ten times a second, whether a decision is due or not.
struct PlantCounters {
  std::uint64_t time_ns = 0;
  std::uint64_t batches = 0;
  std::uint64_t samples = 0;
  std::uint64_t stall_ns = 0;  // sum of the consumer's waits
  std::uint64_t cpu_ns = 0;    // that the samples took, or would have without waiting for the budget
  bool finished = false;
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

/// counters(), observe() and apply() may be called from one control thread while the plant runs.
class Plant {
 public:
  virtual ~Plant() = default;
  /// They may change while it runs.
  virtual Limits limits() const = 0;
  virtual PlantCounters counters() const = 0;
  /// In force now.
  virtual Settings settings() const = 0;
  /// Spreads are those since the call before.
  virtual Observation observe() = 0;
  /// Moves the knobs. Never changes the data that comes out, only when.
  virtual void apply(const Settings& settings) = 0;
  /// Pids of its worker processes, where it has any.
  virtual std::vector<std::int32_t> worker_pids() const { return {}; }
};

}  // namespace drapps
