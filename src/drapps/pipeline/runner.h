// What runs a plan over one epoch, seen from outside: batches come out of it, knobs are moved on it.
//
//   auto runner = make_runner(std::move(parts));
//   auto next = (*runner)->next(100ms);
//   if (next && std::holds_alternative<Batch>(*next)) take(std::get<Batch>(*std::move(next)));
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "drapps/base/error.h"
#include "drapps/base/knob.h"
#include "drapps/base/lane.h"
#include "drapps/base/result.h"
#include "drapps/cache/keeper.h"
#include "drapps/deliver/slot_arena.h"
#include "drapps/modality/late_stage.h"
#include "drapps/modality/row_stream.h"
#include "drapps/pipeline/batch_window.h"
#include "drapps/pipeline/engine.h"
#include "drapps/pipeline/metrics.h"
#include "drapps/pipeline/plan.h"
#include "drapps/source/learned.h"
#include "drapps/source/sampler.h"
#include "drapps/source/source.h"
#include "drapps/source/upcoming.h"
#include "drapps/storage/file_reads.h"

namespace drapps {

class BatchUpload;  // batch_upload.h
class Residence;    // residence.h

/// What a runner is made of, all of which it keeps alive as long as it needs it.
struct RunnerParts {
  std::shared_ptr<const Plan> plan;
  std::shared_ptr<Source> source;
  Sampler sampler;
  std::uint64_t seed = 0;  // of the ops, beside the order's
  Settings settings;       // to begin with
  Engine& engine;
  std::shared_ptr<SlotArena> arena;            // of slots as large as the plan's layout; null: one of its own
  std::shared_ptr<LearnedStore> learned = {};  // what one pass learns of records for the next, or null
  std::shared_ptr<cache::Keeper> keeper = {};  // what keeps records, or null
  std::shared_ptr<KeptReads> kept = {};        // what was read of files that rows are made of in streams, or null
  WeightUse weights = WeightUse::kShare;       // what the lanes' weights say where the plan is split
  std::shared_ptr<Residence> residence = {};   // whose device makes the batches of arrays that lie there, or null
  std::shared_ptr<BatchUpload> upload = {};    // whose device finishes the batches, or null
  std::shared_ptr<LateStage> late = {};        // what decodes some of the samples on a device, or null
  bool ahead = true;                           // false: rows of arrays are read when their batch is asked for
  std::vector<StreamCursor> cursors = {};      // as Runner::cursors() gave them; may be empty
};

/// One pass. next() has one caller at a time; everything else may be called from any thread, at any moment.
///
/// The arena outlives the runner that filled its slots: whoever made the runner says afterwards whether the memory is
/// kept for another one.
class Runner {
 public:
  using Finished = BatchWindow::Finished;
  using Next = BatchWindow::Next;

  Runner() = default;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;
  /// Waits for what is in hand, drops the rest.
  virtual ~Runner() = default;

  /// The next batch, in order; or the error of a bad sample in it under OnError::kRaise, after which the next call
  /// goes on with the following batch; or Finished. Empty where `patience` ran out: call again.
  virtual std::optional<Next> next(std::chrono::milliseconds patience) = 0;

  /// Moves the knobs.
  virtual void apply(const Settings& settings) = 0;

  virtual const Metrics& metrics() const noexcept = 0;
  /// The counters of what brings this runner's batches to a device.
  virtual device::DeviceCounters& device_counters() noexcept = 0;
  virtual const Plan& plan() const noexcept = 0;
  /// The memory that its batches lie in.
  virtual std::shared_ptr<SlotArena> arena() const noexcept = 0;
  /// Batches that have landed and were not taken.
  virtual std::uint32_t ready_batches() const = 0;
  /// Whether the batch whose turn it is has landed: next() does not wait.
  virtual bool ready() const = 0;
  /// What the next samples will take, by their known order and by what the source knows of its records.
  virtual Upcoming upcoming() const = 0;
  /// Global position that the batches taken so far have consumed.
  virtual std::uint64_t position() const = 0;
  /// What a pass that begins at a position can begin with, where rows are made in streams (modality/row_stream.h): a
  /// cursor of each, or one that is not known. Those of up to kRemembered batches before position() are remembered.
  virtual std::vector<StreamCursor> cursors(std::uint64_t /*position*/) const { return {}; }
  static constexpr std::uint64_t kRemembered = BatchWindow::kRing;
  /// Steps that were not taken yet.
  virtual std::uint64_t left() const = 0;
  /// Bad samples so far, the first BatchWindow::kMostBadSamples of them; under kReplace and kSkip too.
  virtual std::vector<Error> bad_samples() const = 0;
  /// As bad_samples(), moved out of a runner that is about to end.
  virtual std::vector<Error> take_bad_samples() noexcept = 0;
};

/// The runner for the kind of records that the source has; it starts working at once.
Result<std::unique_ptr<Runner>> make_runner(RunnerParts parts);

}  // namespace drapps
