#include "drapps/pipeline/plan.h"

#include <algorithm>
#include <new>
#include <nlohmann/json.hpp>
#include <utility>

#include "drapps/base/lane.h"
#include "drapps/batch/compact.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

/// The pictures of a source in memory; nullptr where it is another, or has none.
const PictureArray* pictures_of(const Source& source) {
  const ArraySource* arrays = source.arrays();
  return arrays != nullptr ? arrays->pictures() : nullptr;
}

/// What the decoder makes of any record of the source, or what its array of pictures holds.
SampleSpec decoded(const PipelineSpec& spec, const Source& source) {
  if (const PictureArray* pictures = pictures_of(source)) {
    return {.channels = pictures->channels, .extent = pictures->extent, .fixed = true};
  }
  return {.channels = spec.decode.color == ColorMode::kRgb ? 3 : 1,
          .has_mask = source.has_mask(),
          .has_boxes = source.targets().has_boxes()};
}

/// Ops that are left out for some samples.
struct Group {
  std::size_t end;   // number of the op behind them
  SampleSpec given;  // what comes before them
};

Result<std::vector<SampleSpec>> infer_all(const PipelineSpec& spec, const Source& source) {
  std::vector<SampleSpec> stages{decoded(spec, source)};
  std::vector<Group> open;
  for (std::size_t i = 0; i < spec.ops.size(); ++i) {
    const std::string where = "op " + std::to_string(i + 1) + " (" + std::string(tag_of(spec.ops[i])) + "): ";
    if (Status status = check(spec.ops[i]); !status.ok()) return invalid(where + status.error().message);
    auto made = infer(spec.ops[i], stages.back());
    if (!made.ok()) return invalid(where + made.error().message);
    stages.push_back(*made);
    if (const auto* sometimes = std::get_if<RandomApply>(&spec.ops[i])) {
      const std::size_t end = i + 1 + static_cast<std::size_t>(sometimes->count);
      if (end > (open.empty() ? spec.ops.size() : open.back().end)) {
        return invalid(where + "it covers more ops than there are behind it");
      }
      open.push_back({end, *made});
    }
    for (; !open.empty() && open.back().end == i + 1; open.pop_back()) {
      auto both = either(open.back().given, stages.back());
      if (!both.ok()) return invalid(where + both.error().message);
      stages.back() = *both;
    }
  }
  if (!stages.back().fixed) {
    return invalid(
        "the pictures have no common size, so they make no batch: "
        "add random_resized_crop, center_crop, random_crop or resize(height, width)");
  }
  return stages;
}

/// What mixes batches, where the description says so.
Result<std::optional<Mixer>> mixer_of(const PipelineSpec& spec, const Source& source, const SampleSpec& last) {
  if (!spec.mix) return std::optional<Mixer>();
  auto mixer = Mixer::make(*spec.mix, spec.tensor, last);
  if (!mixer.ok()) return std::move(mixer).error();
  const auto& labels = source.targets().labels;
  if (labels.empty()) return invalid("mix: the source has no labels to mix; give it labels, or do not mix");
  DRAPPS_RETURN_IF_ERROR(mixer->check_labels(labels.front().values));
  return std::optional<Mixer>(*std::move(mixer));
}

/// Rows of arrays are gathered many at a time, which is not split.
PlanLanes lanes_of(const Source& source) {
  PlanLanes lanes = sample_lanes();
  if (source.arrays() != nullptr) lanes.split.clear();
  return lanes;
}

nlohmann::json lane_names(const std::vector<PlanLane>& lanes) {
  nlohmann::json names{kLanes[lane_place(LaneRole::kFetch)].name};
  for (const PlanLane& lane : lanes) names.push_back(kLanes[lane.place].name);
  return names;
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
  const ArraySource* const arrays = source.arrays();
  if (arrays != nullptr && arrays->pictures() == nullptr) return of_arrays(std::move(spec), *arrays);
  auto stages = infer_all(spec, source);
  if (!stages.ok()) return std::move(stages).error();
  const SampleSpec last = stages->back();
  auto picture = PictureWriter::make(spec.tensor, last);
  if (!picture.ok()) return std::move(picture).error();
  std::optional<MaskWriter> mask;
  if (last.has_mask) {
    auto writer = MaskWriter::make(spec.mask.dtype, last);
    if (!writer.ok()) return std::move(writer).error();
    mask = *writer;
  }
  auto mixer = mixer_of(spec, source, last);
  if (!mixer.ok()) return std::move(mixer).error();

  // Behind an erasure there are only erasures, which are made in the finished row.
  const auto look =
      std::find_if(stages->rbegin(), stages->rend(), [](const SampleSpec& stage) { return !stage.erased; });
  const auto last_look = static_cast<std::size_t>(std::max<std::ptrdiff_t>(stages->rend() - look - 2, 0));
  const std::uint32_t rows = spec.sampler.batch;
  Plan plan{.spec = std::move(spec),
            .stages = *std::move(stages),
            .last_look = last_look,
            .lanes = lanes_of(source),
            .picture = *picture,
            .mask = mask,
            .mixer = *std::move(mixer),
            .layout = BatchLayout(rows)};
  const PictureArray* pictures = pictures_of(source);
  DRAPPS_RETURN_IF_ERROR(add_picture_column(plan, pictures != nullptr ? pictures->name : "image"));
  if (arrays != nullptr) add_array_columns(plan, *arrays);
  add_label_columns(plan, source.targets());
  add_mask_column(plan);
  add_box_columns(plan);
  add_origin_columns(plan);
  return std::make_shared<const Plan>(std::move(plan));
}

Result<std::shared_ptr<const Plan>> Plan::of_arrays(PipelineSpec spec, const ArraySource& arrays) {
  if (!spec.ops.empty()) {
    return invalid("op 1 (" + std::string(tag_of(spec.ops[0])) +
                   ") has no pictures to work on: say which array holds them");
  }
  if (spec.mix) return invalid("mix: the source has no pictures to mix");
  const std::uint32_t rows = spec.sampler.batch;
  Plan plan{.spec = std::move(spec), .lanes = lanes_of(arrays), .layout = BatchLayout(rows)};
  add_array_columns(plan, arrays);
  add_origin_columns(plan);
  return std::make_shared<const Plan>(std::move(plan));
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
  for (std::size_t i = 0; i < stages.size(); ++i) {
    const SampleSpec& stage = stages[i];
    root["stages"].push_back({{"op", i == 0 ? "decode" : std::string(tag_of(spec.ops[i - 1]))},
                              {"channels", stage.channels},
                              {"height", stage.extent.height},
                              {"width", stage.extent.width},
                              {"fixed_size", stage.fixed}});
  }
  root["lanes"] = {{"fused", lane_names(lanes.fused)}};
  if (!lanes.split.empty()) root["lanes"]["split"] = lane_names(lanes.split);
  root["columns"] = json::array();
  for (const Column& column : layout.columns()) {
    root["columns"].push_back({{"name", std::string(column.name)},
                               {"dtype", std::string(name_of(column.dtype))},
                               {"row_shape", column.row_shape},
                               {"row_bytes", column.row_bytes}});
  }
  root["batch_bytes"] = layout.bytes();
  return root.dump();
}

}  // namespace drapps
