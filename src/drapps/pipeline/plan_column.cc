#include "drapps/pipeline/plan_column.h"

#include <cstring>
#include <utility>

#include "drapps/pipeline/plan.h"
#include "drapps/pipeline/task.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

template <class T>
void put(std::byte* at, T value) noexcept {
  std::memcpy(at, &value, sizeof(T));
}

/// A column of one number for each sample, which cannot fail.
template <class T, class Value>
std::size_t add_number(Plan& plan, std::string name, Dtype dtype, Value value) {
  const std::size_t column = plan.layout.add(std::move(name), dtype, {});
  plan.writers.push_back(
      {.column = column, .write = [value](const Plan&, const Source& source, const SampleTask& task, std::byte* row) {
         put(row, static_cast<T>(value(source, task)));
         return ok_status();
       }});
  return column;
}

}  // namespace

Status add_picture_column(Plan& plan, std::string name) {
  auto shape = plan.spec.tensor.infer(plan.stages.back());
  if (!shape.ok()) return std::move(shape).error();
  plan.columns.image = plan.layout.add(std::move(name), plan.spec.tensor.dtype, *std::move(shape));
  plan.writers.push_back({.column = plan.columns.image,
                          .write = [](const Plan& of, const Source&, const SampleTask& task, std::byte* row) {
                            return of.picture->write(task.workspace->sample, row);
                          }});
  return ok_status();
}

void add_array_columns(Plan& plan, const ArraySource& arrays) {
  for (const Array& array : arrays.columns()) {
    plan.columns.arrays.push_back(plan.layout.add(array.name, array.dtype, array.row_shape));
  }
}

void add_label_columns(Plan& plan, const Targets& targets) {
  for (std::size_t i = 0; i < targets.labels.size(); ++i) {
    const auto label = [i](const Source& source, const SampleTask& task) { return source.label(i, task.index); };
    if (i > 0 || !plan.mixer) {
      plan.columns.labels.push_back(add_number<std::int64_t>(plan, targets.labels[i].name, Dtype::kInt64, label));
      continue;
    }
    plan.columns.labels.push_back(plan.layout.add(targets.labels[i].name, Dtype::kFloat32, {plan.mixer->classes()}));
    plan.writers.push_back(
        {.column = plan.columns.labels[i],
         .write = [label](const Plan& of, const Source& source, const SampleTask& task, std::byte* row) {
           of.mixer->write_label(label(source, task), row);
           return ok_status();
         }});
  }
}

void add_mask_column(Plan& plan) {
  if (!plan.mask) return;
  const Extent extent = plan.stages.back().extent;
  std::vector<std::int64_t> shape{extent.height, extent.width};
  if (plan.spec.mask.channel) shape.insert(shape.begin(), 1);
  plan.writers.push_back({.column = plan.layout.add("mask", plan.spec.mask.dtype, std::move(shape)),
                          .part = Part::kMask,
                          .write = [](const Plan& of, const Source&, const SampleTask& task, std::byte* row) {
                            return of.mask->write(task.workspace->sample, row);
                          }});
}

void add_box_columns(Plan& plan) {
  if (!plan.stages.back().has_boxes) return;
  const std::int32_t most = plan.spec.max_boxes;
  const auto room = static_cast<std::size_t>(most);
  plan.writers.push_back(
      {.column = plan.layout.add("boxes", Dtype::kFloat32, {most, 4}),
       .write = [room](const Plan&, const Source&, const SampleTask& task, std::byte* row) -> Status {
         auto count = write_boxes(task.workspace->sample, {reinterpret_cast<float*>(row), 4 * room});
         if (!count.ok()) return std::move(count).error();
         return ok_status();
       }});
  plan.writers.push_back({.column = plan.layout.add("box_labels", Dtype::kInt64, {most}),
                          .write = [room](const Plan&, const Source& source, const SampleTask& task, std::byte* row) {
                            write_box_values(task.workspace->sample, source.boxes(task.index).labels,
                                             {reinterpret_cast<std::int64_t*>(row), room});
                            return ok_status();
                          }});
  add_number<std::int64_t>(plan, "box_counts", Dtype::kInt64,
                           [](const Source&, const SampleTask& task) { return task.workspace->sample.boxes.size(); });
}

void add_origin_columns(Plan& plan) {
  plan.columns.index = add_number<std::int64_t>(plan, "index", Dtype::kInt64,
                                                [](const Source&, const SampleTask& task) { return task.index; });
  plan.columns.position = add_number<std::int64_t>(
      plan, "position", Dtype::kInt64, [](const Source&, const SampleTask& task) { return task.row.position; });
  plan.columns.flags =
      add_number<std::uint8_t>(plan, "flags", Dtype::kUint8, [](const Source&, const SampleTask& task) {
        return (task.row.padded ? kFlagPadded : 0) | (task.replaced ? kFlagReplaced : 0);
      });
}

}  // namespace drapps
