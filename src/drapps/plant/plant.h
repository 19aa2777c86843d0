// What a policy steers. The live pipeline is a plant, and so is a simulator: a policy cannot tell them apart.
//
//   const Observation seen = plant.observe();
//   const Settings proposed = policy.decide(seen, state);
//   plant.apply(guard.rule(seen, proposed, now_ns).applied);
#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <tuple>
#include <vector>

#include "drapps/base/knob.h"
#include "drapps/base/lane.h"
#include "drapps/base/number.h"
#include "drapps/device/metered_stream.h"
#include "drapps/plant/meter_observation.h"
#include "drapps/plant/spread.h"
#include "drapps/source/upcoming.h"
#include "drapps/storage/meter.h"

namespace drapps {

/// What there is of one lane.
struct LaneObservation {
  bool valid = false;  // the plan has this lane, and it is in use now
  Spread service_wall;
  Spread service_cpu;
  Spread queue_length;  // seen at each arrival
  Spread wait;

  static constexpr auto numbers() {
    constexpr auto kGauge = NumberKind::kGauge;
    return std::tuple(ListedNumber{&LaneObservation::valid, {"valid", "", "plan", kGauge, "1: it is in use now"}},
                      ListedNumber{&LaneObservation::service_wall,
                                   {"service_wall", "ns", "workers", kGauge, "wall time of a sample"}},
                      ListedNumber{&LaneObservation::service_cpu,
                                   {"service_cpu", "ns", "workers' CPU clocks", kGauge,
                                    "CPU time of a sample; of `python` the sum alone"}},
                      ListedNumber{&LaneObservation::queue_length,
                                   {"queue_length", "samples", "queues", kGauge, "that waited when one more came"}},
                      ListedNumber{&LaneObservation::wait, {"wait", "ns", "queues", kGauge, "that a sample waited"}});
  }
};

/// Where the time of those went that make samples, threads or worker processes, summed over them; work on lanes is in
/// LaneObservation. All loaders of the process are counted, since the plant was made or before.
struct WorkerObservation {
  std::uint64_t workers = 0;
  std::uint64_t wall_ns = 0;
  std::uint64_t idle_ns = 0;
  std::uint64_t window_ns = 0;
  std::uint64_t memory_ns = 0;
  std::uint64_t storage_ns = 0;
  std::uint64_t paused_ns = 0;
  std::uint64_t other_ns = 0;

  static constexpr auto numbers() {
    using Self = WorkerObservation;
    constexpr std::string_view kAccounts = "accounts of the workers";
    constexpr auto kCounter = NumberKind::kCounter;
    return std::tuple(
        ListedNumber{&Self::workers, {"count", "workers", kAccounts, NumberKind::kGauge, "alive"}},
        ListedNumber{&Self::wall_ns,
                     {"wall", "ns", kAccounts, kCounter,
                      "of all that ever were: the sum of the six below and of the time in lanes"}},
        ListedNumber{&Self::idle_ns, {"idle", "ns", kAccounts, kCounter, "had nothing to do"}},
        ListedNumber{&Self::window_ns, {"window", "ns", kAccounts, kCounter, "blocked by `prefetch_depth`"}},
        ListedNumber{&Self::memory_ns, {"memory", "ns", kAccounts, kCounter, "blocked by memory"}},
        ListedNumber{&Self::storage_ns, {"storage", "ns", kAccounts, kCounter, "blocked by reads"}},
        ListedNumber{&Self::paused_ns, {"paused", "ns", kAccounts, kCounter, "the CPU budget was used up"}},
        ListedNumber{&Self::other_ns, {"other", "ns", kAccounts, kCounter, "scheduling; of processes, their start"}});
  }
};

using StorageObservation = StorageNumbers<std::uint64_t, std::uint64_t, Spread>;

/// What this loader's streams did on the device that makes its batches, or samples of them; all zeros where there is
/// none. What others do there is in the meters of GPUs.
using DeviceObservation = device::DeviceCounts;

/// The one who takes the batches, at the outermost iterator.
struct ConsumerObservation {
  std::uint64_t passes = 0;
  std::uint64_t samples = 0;
  Spread step;  // the training step and its wait
  Spread stall;
  std::uint64_t helped_ns = 0;  // is no part of a stall
  std::uint64_t between_ns = 0;

  static constexpr auto numbers() {
    using Self = ConsumerObservation;
    constexpr std::string_view kOutermost = "outermost iterator";
    constexpr auto kCounter = NumberKind::kCounter;
    constexpr auto kGauge = NumberKind::kGauge;
    return std::tuple(
        ListedNumber{&Self::passes, {"passes", "passes", kOutermost, kCounter, "that have taken a step"}},
        ListedNumber{&Self::samples,
                     {"samples", "samples", kOutermost, kCounter,
                      "that the batches of all counted steps were to have; 0 where that is not known"}},
        ListedNumber{&Self::step, {"step", "ns", kOutermost, kGauge, "from one call of `next` to the following one"}},
        ListedNumber{&Self::stall,
                     {"stall", "ns", kOutermost, kGauge, "waited inside `next`; the sum counts a wait that goes on"}},
        ListedNumber{&Self::helped_ns, {"helped", "ns", kOutermost, kCounter, "worked at batches inside `next`"}},
        ListedNumber{&Self::between_ns, {"between", "ns", kOutermost, kCounter, "between passes"}});
  }
};

/// Worker processes that make the samples; all zeros where threads of this process do. Counts only ever rise.
struct ProcessObservation {
  std::int32_t starting = 0;
  std::int32_t leaving = 0;
  std::uint64_t output = 0;  // some datasets make whole batches
  std::uint64_t demand_ns = 0;
  std::uint64_t idle_cores_ns = 0;  // 0 where the machine does not say
  std::uint64_t idle = 0;

  static constexpr auto numbers() {
    using Self = ProcessObservation;
    constexpr std::string_view kBoard = "board of the worker processes";
    constexpr auto kCounter = NumberKind::kCounter;
    constexpr auto kGauge = NumberKind::kGauge;
    return std::tuple(
        ListedNumber{&Self::starting,
                     {"starting", "processes", kBoard, kGauge, "have made nothing yet, or are not there yet"}},
        ListedNumber{&Self::leaving,
                     {"leaving", "processes", kBoard, kGauge, "retired and not ended yet, or still to be retired"}},
        ListedNumber{&Self::output, {"made", "samples and batches", kBoard, kCounter, "made by processes"}},
        ListedNumber{&Self::demand_ns,
                     {"demand", "ns", "CPU clocks of the processes", kCounter,
                      "CPU time that they used, or would have without waiting for the budget"}},
        ListedNumber{&Self::idle_cores_ns,
                     {"idle_cores", "ns", "/proc/stat", kCounter,
                      "for which cores that they may run on had nothing to do, summed"}},
        ListedNumber{&Self::idle, {"idle", "times", "consumer", kCounter, "that they had nothing to do for a while"}});
  }
};

/// Whether a policy may try something. Of the loaders of a process one does at a time, so that none takes the effect of
/// another's for its own.
enum class Turn : std::uint8_t {
  kOpen,   // a trial may begin or go on
  kAsked,  // a trial that has begun goes on, but none begins: another loader waits for its turn
  kTaken,  // another loader's trial is under way
};

/// One consistent copy of everything a policy may look at. Plain and of fixed size; fields.h lists what is in it.
struct Observation {
  std::uint64_t time_ns = 0;  // monotonic clock at which it was taken; 0: there is none
  std::uint64_t batches = 0;  // delivered so far
  std::uint64_t samples = 0;  // rows delivered so far; with worker processes, samples or whole batches that they made
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
  /// The limits, which may change while the plant runs.
  virtual Limits limits() const = 0;
  virtual PlantCounters counters() const = 0;
  /// The settings in force now.
  virtual Settings settings() const = 0;
  /// What is seen now; its spreads are those since the call before.
  virtual Observation observe() = 0;
  /// Moves the knobs. Never changes the data that comes out, only when.
  virtual void apply(const Settings& settings) = 0;
  /// Pids of its worker processes, where it has any.
  virtual std::vector<std::int32_t> worker_pids() const { return {}; }
};

}  // namespace drapps
