// A description that was checked against its source: every shape known, every byte counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drapps/augment/op.h"
#include "drapps/batch/mix.h"
#include "drapps/batch/row.h"
#include "drapps/deliver/batch_layout.h"
#include "drapps/pipeline/plan_column.h"
#include "drapps/pipeline/plan_lane.h"
#include "drapps/pipeline/spec.h"
#include "drapps/source/source.h"

namespace drapps {

/// Bits of the column "flags".
inline constexpr std::uint8_t kFlagPadded = 1;    // a repeat that fills the last batch of a rank
inline constexpr std::uint8_t kFlagReplaced = 2;  // another sample stands in for a bad one; "index" names that one

/// Immutable; shared by everything that runs it and by the batches that came of it.
struct Plan {
  PipelineSpec spec;               // with the source's size
  std::vector<SampleSpec> stages;  // what the decoder makes, then what each op makes; none without pictures
  std::size_t last_look = 0;       // number of the last op that looks at the picture
  PlanLanes lanes;
  std::optional<PictureWriter> picture;  // none where the source is arrays without pictures
  std::optional<MaskWriter> mask;
  std::optional<Mixer> mixer;
  BatchLayout layout;
  std::vector<ColumnWriter> writers;  // of a sample's row, in the order in which they are called

  // Places in layout.columns(), of those that are looked up.
  struct Columns {
    std::size_t image = 0;  // where Plan::picture is set
    std::size_t index = 0;
    std::size_t position = 0;
    std::size_t flags = 0;
    std::vector<std::size_t> labels;  // one per label column of the source; the first is Plan::mixer's, where set
    std::vector<std::size_t> arrays;  // one per array of the source that is no picture
  } columns;

  /// kInvalidArgument says which op does not fit, and what to do.
  static Result<std::shared_ptr<const Plan>> make(PipelineSpec spec, const Source& source);
  /// The same for arrays without pictures.
  static Result<std::shared_ptr<const Plan>> of_arrays(PipelineSpec spec, const ArraySource& arrays);

  /// Removes rows from a batch of `rows`, in place, moving later rows down. Returns how many are left.
  /// @param bad ascending.
  std::uint32_t drop_rows(std::byte* slot, std::uint32_t rows, std::span<const std::uint32_t> bad) const;
  void write_header(std::byte* slot, std::uint64_t step, std::uint32_t epoch, std::uint32_t rows) const;

  /// explain()'s section: the ops with what each makes, the lanes of either mode, the bytes of a batch. JSON.
  std::string to_json() const;
};

}  // namespace drapps
