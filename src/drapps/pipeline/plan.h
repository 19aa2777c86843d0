// A description that was checked against its source: every shape known, every byte counted.
//
//   auto plan = Plan::make(*parse_spec(description), *source);
//   const std::uint32_t left = (*plan)->drop_rows(slot, rows, bad);
//   (*plan)->write_header(slot, step, epoch, left);
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "drapps/modality/columns.h"
#include "drapps/modality/device_part.h"
#include "drapps/modality/modality.h"
#include "drapps/pipeline/plan_lane.h"
#include "drapps/pipeline/spec.h"
#include "drapps/source/source.h"

namespace drapps {

struct CarryingPlan;

/// Immutable; shared by everything that runs it and by the batches that came of it.
struct Plan : BatchColumns {
  PipelineSpec spec;                                   // with the source's size
  std::vector<std::shared_ptr<const PartPlan>> parts;  // those of which the records have something
  PlanLanes lanes;
  const RowStreams* streams = nullptr;  // of the only part, where rows are made in streams
  std::uint64_t large_work = std::numeric_limits<std::uint64_t>::max();  // of a sample that is reported as large

  /// kInvalidArgument says which op does not fit, and what to do. `source` outlives what runs the plan.
  static Result<std::shared_ptr<const Plan>> make(PipelineSpec spec, const Source& source);

  /// The same plan for batches that a device finishes, with what it finishes of them (modality/device_part.h).
  /// kUnsupported says why there is none. This plan and `source` outlive it.
  Result<CarryingPlan> carrying(const Source& source) const;

  /// Removes rows from a batch of `rows`, in place, moving later rows down. Returns how many are left.
  /// @param bad ascending.
  std::uint32_t drop_rows(std::byte* slot, std::uint32_t rows, std::span<const std::uint32_t> bad) const;
  void write_header(std::byte* slot, std::uint64_t step, std::uint32_t epoch, std::uint32_t rows) const;

  /// explain()'s section: the ops with what each makes, the lanes of either mode, the bytes of a batch. JSON.
  std::string to_json() const;
};

/// A plan whose columns stand at the places of another one's. Behind them stand the addresses of rows that stay on a
/// device (BatchColumns::rows_there), where any may, and what is erased of each row, where anything is.
struct CarryingPlan {
  std::shared_ptr<const Plan> plan;
  CarriedPart part;
};

}  // namespace drapps
