// The columns of a plan's batches, and what writes a sample's row of each.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

#include "drapps/base/result.h"
#include "drapps/source/source.h"

namespace drapps {

struct Plan;
struct SampleTask;

struct ColumnWriter {
  std::size_t column = 0;    // in Plan::layout
  Part part = Part::kImage;  // of the record, which errors are about
  /// Fills `row`, with what was made of the task's sample.
  std::function<Status(const Plan& plan, const Source& source, const SampleTask& task, std::byte* row)> write;
};

// Each adds columns to the layout, their places to Plan::columns where others look them up, and their writers.

/// Requires plan.picture. kInvalidArgument where its samples have no common shape.
Status add_picture_column(Plan& plan, std::string name);
/// Rows of arrays, which a runner gathers: they have no writers.
void add_array_columns(Plan& plan, const ArraySource& arrays);
/// One for each label column of the source; the first is mixed where plan.mixer is there.
void add_label_columns(Plan& plan, const Targets& targets);
/// Nothing without plan.mask.
void add_mask_column(Plan& plan);
/// "boxes", "box_labels" and "box_counts", where samples have boxes.
void add_box_columns(Plan& plan);
/// "index", "position" and "flags": which samples the rows are.
void add_origin_columns(Plan& plan);

}  // namespace drapps
