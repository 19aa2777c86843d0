// What a plan does with one sample: decode, augment, collate; and its batch ops.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "drapps/modality/late_stage.h"
#include "drapps/pipeline/plan.h"
#include "drapps/pipeline/task.h"

namespace drapps {

/// Stateless but for the plan and the source; called by many workers at once, each with its own task.
class Preparer {
 public:
  /// @param sampler outlives the preparer.
  /// @param seed    of the ops, beside the order's.
  /// @param learned of the source's records, which decoding learns and uses; or null.
  Preparer(std::shared_ptr<const Plan> plan, std::shared_ptr<Source> source, const Sampler& sampler, std::uint64_t seed,
           std::shared_ptr<LearnedStore> learned)
      : plan_(std::move(plan)),
        source_(std::move(source)),
        sampler_(sampler),
        seed_(seed),
        learned_(std::move(learned)) {}

  /// The memory that the plan's parts work in.
  Workspace new_workspace(MemoryLedger& ledger) const;
  /// PartPlan::decode_late() of the plan's only part.
  bool decode_late(SampleTask& task, LateStage& stage, LateSink& sink, bool augment) const;
  /// Makes what the first op of each part reads of what was fetched.
  Status decode(SampleTask& task) const;
  /// Runs every op of the description, in order.
  Status augment(SampleTask& task) const;
  /// Writes the sample into its row of every column that has a writer.
  Status collate(SampleTask& task) const;
  /// Decodes, augments and collates.
  Status prepare(SampleTask& task) const;
  /// Runs the batch ops on the first `rows` rows of a finished batch.
  void finish(std::byte* slot, std::uint64_t step, std::uint32_t rows) const;
  /// What the batch ops of the plan's only part draw with.
  PartDraws batch_draws(std::uint64_t step) const { return {coordinate(sampler_.batch(step).first_position), 0}; }

  /// What the ops of the plan's only part would do to the sample at a position, a row of an array.
  Status note_trail(std::uint64_t position, Scratch& scratch, Trail& trail) const {
    return plan_->parts.front()->note_trail(PartDraws(coordinate(position), 0), scratch, trail);
  }

  /// Which sample stands in for a bad one; the task then asks for that one.
  void replace(SampleTask& task, std::uint32_t attempt) const;

  /// Ops draw with ordinals counted over all parts, from 1, under the order's key (the rank folded in where the order
  /// is the user's) plus an odd multiple of the ops' seed: part of the documented format of a stream.
  Coordinate coordinate(std::uint64_t position) const {
    Coordinate at = sampler_.coordinate(position);
    at.seed += seed_ * 0xD1342543DE82EF95u;
    return at;
  }

 private:
  using Step = Status (PartPlan::*)(Sample&, const PartDraws&) const;
  Status each_part(SampleTask& task, Step step) const;
  Error named(Error error, const SampleTask& task, RecordPart part) const;

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<Source> source_;
  const Sampler& sampler_;
  const std::uint64_t seed_;
  const std::shared_ptr<LearnedStore> learned_;
};

}  // namespace drapps
