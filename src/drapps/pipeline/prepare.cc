#include "drapps/pipeline/prepare.h"

#include <utility>

#include "drapps/base/clock.h"
#include "drapps/base/lane.h"
#include "drapps/decode/check.h"

namespace drapps {
namespace {

/// Adds the thread-CPU time of its scope to a sample that is measured.
class KernelTimer {
 public:
  explicit KernelTimer(SampleTask& task) noexcept : task_(task), start_(task.measured ? thread_cpu_ns() : 0) {}
  ~KernelTimer() {
    if (task_.measured) task_.kernel_cpu_ns += thread_cpu_ns() - start_;
  }
  KernelTimer(const KernelTimer&) = delete;
  KernelTimer& operator=(const KernelTimer&) = delete;

 private:
  SampleTask& task_;
  std::uint64_t start_;
};

}  // namespace

PlanLanes sample_lanes() {
  using Step = Status (Preparer::*)(SampleTask&) const;
  const auto work = [](Step step) -> LaneWork {
    return [step](const Preparer& preparer, SampleTask& task, LaneSink&) { return (preparer.*step)(task); };
  };
  return {.fused = {{lane_place(LaneRole::kPrepare), work(&Preparer::prepare)}},
          .split = {{lane_place(LaneRole::kDecode), work(&Preparer::decode), 1},
                    {lane_place(LaneRole::kAugment), work(&Preparer::augment), 2},
                    {lane_place(LaneRole::kCollate), work(&Preparer::collate)}}};
}

Error Preparer::named(Error error, const SampleTask& task, Part part) const {
  error.path = source_->name(task.index, part);
  error.index = static_cast<std::int64_t>(task.index);
  return error;
}

Result<ImageInfo> Preparer::inspect(SampleTask& task, Part part, const DecodeOptions& options) const {
  const auto bytes = task.bytes[static_cast<std::size_t>(part)];
  return task.workspace->decoder.inspect(bytes, options);
}

/// A picture that only the description's reader knows, read whole and cut to what the first op reads.
Status Preparer::read_foreign(SampleTask& task, const Error& unread) const {
  Workspace& work = *task.workspace;
  Sample& sample = work.sample;
  const auto bytes = task.bytes[static_cast<std::size_t>(Part::kImage)];
  auto image = plan_->spec.foreign->read(bytes, work.scratch.next_image_buffer());
  if (!image.ok()) {
    Error error = std::move(image).error();
    if (error.code == ErrorCode::kUnsupported) {
      error.message = unread.message + " (" + error.message + ")";
      error.offset = unread.offset;
    }
    return named(std::move(error), task, Part::kImage);
  }
  sample.extent = {image->height, image->width};
  sample.window = Rect{0, 0, image->height, image->width};
  if (!plan_->spec.ops.empty())
    sample.window = region(plan_->spec.ops.front(), sample.extent, draws_of(task.row.position, 0));
  Status inside = check_region(sample.window, sample.extent);
  if (!inside.ok()) return named(std::move(inside).error(), task, Part::kImage);
  sample.image = image->crop(sample.window);
  return ok_status();
}

/// The part of the picture that the first op reads.
Status Preparer::decode_image(SampleTask& task) const {
  Workspace& work = *task.workspace;
  Sample& sample = work.sample;
  const DecodeOptions& options = plan_->spec.decode;
  const auto bytes = task.bytes[static_cast<std::size_t>(Part::kImage)];

  const KernelTimer timer(task);
  auto info = inspect(task, Part::kImage, options);
  const bool foreign = plan_->spec.foreign != nullptr && options.color == ColorMode::kRgb;
  if (!info.ok() && info.error().code == ErrorCode::kUnsupported && foreign) return read_foreign(task, info.error());
  if (!info.ok()) return named(std::move(info).error(), task, Part::kImage);
  sample.extent = info->extent;
  sample.window = Rect{0, 0, info->extent.height, info->extent.width};
  // A mask is decoded whole and cut to the same window, so the two always match.
  if (!plan_->spec.ops.empty())
    sample.window = region(plan_->spec.ops.front(), info->extent, draws_of(task.row.position, 0));
  const jpeg::IndexUse index{indexes_.get(), {task.index, task.identity[static_cast<std::size_t>(Part::kImage)]}};
  auto image = work.decoder.decode(bytes, *info, sample.window, options, work.scratch.next_image_buffer(),
                                   indexes_ == nullptr ? nullptr : &index);
  if (!image.ok()) return named(std::move(image).error(), task, Part::kImage);
  sample.image = *image;
  return ok_status();
}

Status Preparer::decode(SampleTask& task) const {
  DRAPPS_RETURN_IF_ERROR(decode_image(task));
  Sample& sample = task.workspace->sample;
  source_->remember_pixels(
      task.index, static_cast<std::uint64_t>(sample.extent.height) * static_cast<std::uint64_t>(sample.extent.width));
  sample.mirrored = false;
  sample.mask.reset();
  sample.erasures.clear();
  sample.boxes.clear();
  sample.box_rows.clear();
  const BoxRange boxes = source_->boxes(task.index);
  for (std::size_t i = 0; i < boxes.boxes.size(); ++i) {
    sample.boxes.push_back(boxes.boxes[i]);
    sample.box_rows.push_back(static_cast<std::int32_t>(i));
  }
  return source_->has_mask() ? decode_mask(task) : ok_status();
}

Status Preparer::decode_mask(SampleTask& task) const {
  Workspace& work = *task.workspace;
  Sample& sample = work.sample;
  const auto bytes = task.bytes[static_cast<std::size_t>(Part::kMask)];
  DecodeOptions options = plan_->spec.decode;
  options.color = ColorMode::kIndices;
  auto info = inspect(task, Part::kMask, options);
  if (!info.ok()) return named(std::move(info).error(), task, Part::kMask);
  if (info->extent != sample.extent) {
    return named(Error{.code = ErrorCode::kCorrupt,
                       .stage = Stage::kDecode,
                       .message = "the mask has " + std::to_string(info->extent.height) + " x " +
                                  std::to_string(info->extent.width) + " pixels and its image " +
                                  std::to_string(sample.extent.height) + " x " + std::to_string(sample.extent.width) +
                                  "; make them equal"},
                 task, Part::kMask);
  }
  auto mask = work.decoder.decode(bytes, *info, sample.window, options, work.scratch.next_mask_buffer());
  if (!mask.ok()) return named(std::move(mask).error(), task, Part::kMask);
  sample.mask = *mask;
  return ok_status();
}

Status Preparer::augment(SampleTask& task) const {
  Workspace& work = *task.workspace;
  for (std::size_t i = 0; i < plan_->spec.ops.size(); ++i) {
    OpContext context{draws_of(task.row.position, i), work.scratch, i == plan_->last_look};
    const KernelTimer timer(task);
    Status status = run(plan_->spec.ops[i], work.sample, context);
    if (!status.ok()) return named(std::move(status).error(), task, Part::kImage);
    i += static_cast<std::size_t>(context.skip);
  }
  return ok_status();
}

Status Preparer::collate(SampleTask& task) const {
  const KernelTimer timer(task);
  for (const ColumnWriter& writer : plan_->writers) {
    std::byte* const row = plan_->layout.row(task.slot, writer.column, task.row_in_batch);
    Status status = writer.write(*plan_, *source_, task, row);
    if (!status.ok()) return named(std::move(status).error(), task, writer.part);
  }
  return ok_status();
}

Status Preparer::prepare(SampleTask& task) const {
  DRAPPS_RETURN_IF_ERROR(decode(task));
  DRAPPS_RETURN_IF_ERROR(augment(task));
  return collate(task);
}

void Preparer::mix(std::byte* slot, std::uint64_t step, std::uint32_t rows) const {
  const auto& mixer = plan_->mixer;
  if (!mixer) return;
  const auto column = [&](std::size_t place) { return plan_->layout.row(slot, place, 0); };
  mixer->run(column(plan_->columns.image), column(plan_->columns.labels.front()), rows,
             draws_of(sampler_.batch(step).first_position, plan_->spec.ops.size()));
}

void Preparer::replace(SampleTask& task, std::uint32_t attempt) const {
  task.index = sampler_.replacement(task.row.position, attempt);
}

}  // namespace drapps
