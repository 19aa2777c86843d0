#include "drapps/pipeline/plan.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "drapps/base/lane.h"
#include "drapps/batch/compact.h"
#include "drapps/modality/row_stream.h"

namespace drapps {
namespace {

nlohmann::json lane_names(const std::vector<PlanLane>& lanes) {
  nlohmann::json names{kLanes[lane_place(LaneRole::kFetch)].name};
  for (const PlanLane& lane : lanes) names.push_back(kLanes[lane.place].name);
  return names;
}

/// A plan of parts that were planned; the columns are still to be added.
Plan plan_of(PipelineSpec spec, const std::vector<std::shared_ptr<PartPlan>>& parts) {
  Plan plan{{.layout = BatchLayout(spec.sampler.batch)}, std::move(spec), {parts.begin(), parts.end()}, sample_lanes()};
  for (const auto& part : parts) plan.large_work = std::min(plan.large_work, part->large_work());
  return plan;
}

Status add_columns(Plan& plan, const std::vector<std::shared_ptr<PartPlan>>& parts, const Source& source) {
  for (const auto& part : parts) DRAPPS_RETURN_IF_ERROR(part->add_columns(plan));
  plan.add_arrays(source);
  plan.add_labels(source);
  for (const auto& part : parts) part->add_target_columns(plan);
  plan.add_origin(source);
  // Rows are gathered many at a time, which is not split.
  if (source.rows() != nullptr) plan.lanes.split.clear();
  return ok_status();
}

Status check_streams(const PipelineSpec& spec) {
  if (spec.parts.size() > 1)
    return invalid("rows of packed text have no other parts; describe those in a pipeline of their own");
  if (spec.on_error == OnError::kReplace) {
    return invalid("a bad document is in no row that another could stand in for; use on_error=\"skip\" or \"raise\"");
  }
  if (spec.sampler.remainder == Remainder::kPad) {
    return invalid("rows of packed text are not padded; use remainder=\"even\" or \"drop\"");
  }
  return ok_status();
}

}  // namespace

LaneSet on_workers(const std::vector<PlanLane>& lanes) {
  LaneSet places;
  for (const PlanLane& lane : lanes) places[lane.place] = kLanes[lane.place].device == LaneDevice::kCpu;
  return places;
}

Result<std::shared_ptr<const Plan>> Plan::make(PipelineSpec spec, const Source& source) {
  spec.sampler.size = source.size();
  if (spec.sampler.batch < 1) return invalid("batch must be at least 1");
  if (source.size() == 0) return invalid("the source has no samples");
  std::vector<std::shared_ptr<PartPlan>> parts;
  for (const auto& [name, part] : spec.parts) {
    auto planned = part->plan(name, parts.size(), source);
    if (!planned.ok()) return std::move(planned).error();
    if (*planned != nullptr) parts.push_back(*std::move(planned));
  }
  Plan plan = plan_of(std::move(spec), parts);
  DRAPPS_RETURN_IF_ERROR(add_columns(plan, parts, source));
  auto checked = std::make_shared<Plan>(std::move(plan));
  for (const auto& part : parts) {
    const RowStreams* const streams = part->streams(*checked);
    if (streams == nullptr) continue;
    DRAPPS_RETURN_IF_ERROR(check_streams(checked->spec));
    checked->streams = streams;
    checked->lanes = {.fused = {{.place = lane_place(LaneRole::kTokenise)}}, .split = {}};
  }
  return std::shared_ptr<const Plan>(std::move(checked));
}

Result<CarryingPlan> Plan::carrying(const Source& source) const {
  if (parts.size() != 1) {
    return Error{.code = ErrorCode::kUnsupported,
                 .stage = Stage::kSetup,
                 .message = "the samples have " + std::to_string(parts.size()) +
                            " parts, and batches are finished on a device that have pictures alone"};
  }
  auto part = parts.front()->carried();
  if (!part.ok()) return std::move(part).error();
  Plan plan = plan_of(spec, {part->part});
  DRAPPS_RETURN_IF_ERROR(add_columns(plan, {part->part}, source));
  part->part->add_carried_columns(plan);
  return CarryingPlan{.plan = std::make_shared<const Plan>(std::move(plan)), .part = *std::move(part)};
}

std::uint32_t Plan::drop_rows(std::byte* slot, std::uint32_t rows, std::span<const std::uint32_t> bad) const {
  if (bad.empty()) return rows;
  for (const Column& column : layout.columns()) compact_rows(slot + column.offset, column.row_bytes, rows, bad);
  return rows - static_cast<std::uint32_t>(bad.size());
}

void Plan::write_header(std::byte* slot, std::uint64_t step, std::uint32_t epoch, std::uint32_t rows) const {
  new (slot) SlotHeader{.step = step, .epoch = epoch, .rows = rows};
}

std::string Plan::to_json() const {
  using nlohmann::json;
  json root;
  root["spec"] = json::parse(drapps::to_json(spec));
  root["stages"] = json::array();
  for (const auto& part : parts) {
    for (json& stage : part->stages()) root["stages"].push_back(std::move(stage));
  }
  root["lanes"] = {{"fused", lane_names(lanes.fused)}};
  if (!lanes.split.empty()) root["lanes"]["split"] = lane_names(lanes.split);
  root["columns"] = json::array();
  for (const Column& column : layout.columns()) {
    root["columns"].push_back({{"name", std::string(column.name)},
                               {"dtype", std::string(name_of(column.dtype))},
                               {"row_shape", column.row_shape},
                               {"row_bytes", column.row_bytes}});
    if (column.axes) root["columns"].back()["axes"] = *column.axes;
  }
  root["batch_bytes"] = layout.bytes();
  return root.dump();
}

}  // namespace drapps
