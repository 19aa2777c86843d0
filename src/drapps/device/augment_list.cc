#include "drapps/device/augment_list.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "drapps/base/caught.h"
#include "drapps/batch/erase.h"
#include "drapps/device/aligned.h"
#include "drapps/device/kernel/contrast.h"
#include "drapps/device/kernel/keep.h"
#include "drapps/kernel/resize.h"

namespace drapps::device {
namespace {

Error unsupported(const std::string& message) {
  return {.code = ErrorCode::kUnsupported, .stage = Stage::kAugment, .message = message};
}

std::int32_t side(Extent extent, std::size_t axis) noexcept { return axis == 0 ? extent.height : extent.width; }

/// Whether the move reads no border along a dimension of which `out` places come out.
bool stays_inside(const AxisMove& move, std::int32_t out) noexcept {
  const std::int32_t last = move.start + move.step * (out - 1);
  return move.start >= 0 && move.start < move.length && last >= 0 && last < move.length;
}

bool changes_nothing(const AxisMove& move, std::int32_t out) noexcept {
  return move.start == 0 && move.step == 1 && move.length == out;
}

PictureMove picture_move(const TrailStep& step) noexcept {
  const auto [height, width] = step.before;
  PictureMove move{.axes = {{0, 1, height}, {0, 1, width}}};
  switch (step.kind) {
    case TrailStep::Kind::kCrop:
      move.axes[0].start = step.rect.top;
      move.axes[1].start = step.rect.left;
      move.border = static_cast<Border>(step.border);
      for (std::size_t c = 0; c < step.fill.size(); ++c) move.fill[c] = step.fill[c];
      break;
    case TrailStep::Kind::kFlipHorizontal: move.axes[1] = {width - 1, -1, width}; break;
    case TrailStep::Kind::kFlipVertical: move.axes[0] = {height - 1, -1, height}; break;
    default: break;  // is none
  }
  return move;
}
static_assert(static_cast<int>(Border::kFill) == static_cast<int>(kernel::PadMode::kConstant) &&
              static_cast<int>(Border::kEdge) == static_cast<int>(kernel::PadMode::kEdge) &&
              static_cast<int>(Border::kReflect) == static_cast<int>(kernel::PadMode::kReflect) &&
              static_cast<int>(Border::kSymmetric) == static_cast<int>(kernel::PadMode::kSymmetric));

bool vertical_first(const TrailStep& step) noexcept {
  return !step.nearest && step.arithmetic == kernel::Arithmetic::kPillow &&
         kernel::runs_vertical_first(step.order, step.before, step.after);
}

/// The change that a step makes of colours; nothing for a step that moves pixels.
std::optional<Change> change_of(TrailStep::Kind kind) noexcept {
  switch (kind) {
    case TrailStep::Kind::kBrightness: return Change::kBrightness;
    case TrailStep::Kind::kContrast: return Change::kContrast;
    case TrailStep::Kind::kSaturation: return Change::kSaturation;
    case TrailStep::Kind::kHue: return Change::kHue;
    case TrailStep::Kind::kGrayscale: return Change::kGrayscale;
    default: return std::nullopt;
  }
}

Extent most_of(Extent a, Extent b) noexcept { return {std::max(a.height, b.height), std::max(a.width, b.width)}; }

/// Bytes of a picture that is kept, in as many channels as there may be.
std::size_t kept_size(Extent extent) noexcept {
  return aligned(std::size_t{4} * static_cast<std::size_t>(extent.height) * static_cast<std::size_t>(extent.width));
}

template <class T>
std::size_t bytes_of(const std::vector<T>& list) noexcept {
  return list.size() * sizeof(T);
}

template <class T>
void put_list(std::byte*& memory, std::byte*& there, const std::vector<T>& list, const T*& pointer) noexcept {
  const std::size_t bytes = bytes_of(list);
  if (bytes > 0) std::memcpy(memory, list.data(), bytes);
  pointer = reinterpret_cast<const T*>(there);
  memory += bytes;
  there += bytes;
}

}  // namespace

AugmentArguments arguments_of(const PictureWriter& writer) noexcept {
  const kernel::RowFormat format = writer.format();
  return {.element_bytes = static_cast<std::int32_t>(size_of(format.dtype)),
          .number = number_of(format.dtype),
          .interleaved = format.layout == Layout::kNhwc ? 1 : 0,
          .channels = writer.channels(),
          .height = writer.extent().height,
          .width = writer.extent().width};
}

std::size_t kept_bytes(const Trail& trail) noexcept {
  std::size_t bytes = 0;
  bool changed = false;  // since the last picture that is kept
  for (const TrailStep& step : trail.steps) {
    const bool resizes = step.kind == TrailStep::Kind::kResize;
    if (resizes && changed) bytes += kept_size(step.before);
    changed = changed || resizes || change_of(step.kind);
  }
  return bytes;
}

void AugmentList::AugmentLaunch::clear() noexcept {
  work.clear();
  contrasts = 0;
  contrasted = kept = {};
}

std::size_t AugmentList::AugmentLaunch::tiles() const noexcept {
  return static_cast<std::size_t>(Tile::count(contrasted.height, contrasted.width));
}

std::size_t AugmentList::AugmentLaunch::mean_bytes() const noexcept {
  return aligned(work.size() * static_cast<std::size_t>(contrasts));
}

std::size_t AugmentList::AugmentLaunch::bytes_of_means() const noexcept {
  return contrasts == 0 ? 0 : mean_bytes() + aligned(work.size() * tiles() * sizeof(std::uint32_t));
}

void AugmentList::clear() noexcept {
  for (AugmentLaunch& launch : kept_) launch.clear();
  last_.clear();
  kept_bytes_ = 0;
  erasures_.clear();
  moves_.clear();
  colors_.clear();
  plans_.clear();
  for (Planned& planned : planned_) planned.known = false;
}

Status AugmentList::add(std::int64_t picture, std::int64_t row, const Trail& trail, Dtype dtype) {
  return add_work({.picture = picture}, row, trail, dtype);
}

std::size_t AugmentList::window_bytes(const Rect& window, std::int32_t channels) noexcept {
  return aligned(static_cast<std::size_t>(channels) * static_cast<std::size_t>(window.height) *
                 static_cast<std::size_t>(window.width));
}

Result<std::int64_t> AugmentList::add_window(const Rect& window, std::int32_t channels, std::int64_t row,
                                             const Trail& trail, Dtype dtype) {
  const auto place = static_cast<std::int64_t>(kept_bytes_);
  kept_bytes_ += window_bytes(window, channels);
  // The kernels count places from the first pixel of the whole picture.
  const std::int64_t origin = std::int64_t{window.top} * window.width + window.left;
  DRAPPS_RETURN_IF_ERROR(
      add_work({.picture = place - origin, .rows = window.height, .columns = window.width}, row, trail, dtype));
  return place;
}

Status AugmentList::add_work(const PictureWork& begin, std::int64_t row, const Trail& trail, Dtype dtype) {
  return catching([&]() -> Status {
    begin_work(begin);
    bool resized = false;
    std::size_t round = 0;
    for (const TrailStep& step : trail.steps) {
      if (step.kind == TrailStep::Kind::kResize && (resized || current_.colors > 0)) {
        keep(step.before, round++, std::exchange(resized, false));
      }
      DRAPPS_RETURN_IF_ERROR(add_step(step, resized));
    }
    for (const Erasure& erasure : trail.erasures) add_erasure(erasure, dtype);
    current_.offset = row;
    end_work(resized, last_);
    return ok_status();
  });
}

void AugmentList::begin_work(const PictureWork& work) {
  current_ = work;
  current_.moves = static_cast<std::int32_t>(moves_.size());
  current_.first_color = static_cast<std::int32_t>(colors_.size());
  current_.first_erasure = static_cast<std::int32_t>(erasures_.size());
  contrasts_ = 0;
  contrasted_ = {};
  segment_ = moves_.size();
}

void AugmentList::end_work(bool resized, AugmentLaunch& launch) {
  // Colours change among the moves behind the resize, or where it would be.
  const auto count = static_cast<std::int32_t>(moves_.size()) - current_.moves;
  (resized || current_.colors > 0 ? current_.after : current_.before) = resized ? count - current_.before : count;
  launch.work.push_back(current_);
  launch.contrasts = std::max(launch.contrasts, contrasts_);
  launch.contrasted = most_of(launch.contrasted, contrasted_);
  launch.kept = most_of(launch.kept, {current_.made_rows, current_.made_columns});
}

/// The picture as it is until now, of `extent`, is made by a launch of its own and begins what follows.
void AugmentList::keep(Extent extent, std::size_t round, bool resized) {
  current_.offset = static_cast<std::int64_t>(kept_bytes_);
  current_.made_rows = extent.height;
  current_.made_columns = extent.width;
  current_.made_channels = current_.channels;
  for (std::int32_t i = 0; i < current_.colors; ++i) {
    const PictureColor& color = colors_[static_cast<std::size_t>(current_.first_color + i)];
    if (color.change == Change::kGrayscale) current_.made_channels = color.number;
  }
  kept_bytes_ += kept_size(extent);
  if (kept_.size() == round) kept_.emplace_back();
  end_work(resized, kept_[round]);
  begin_work({.picture = current_.offset,
              .rows = current_.made_rows,
              .columns = current_.made_columns,
              .channels = current_.made_channels});
}

Status AugmentList::add_step(const TrailStep& step, bool& resized) {
  if (change_of(step.kind)) {
    add_color(step, resized);
  } else if (step.kind != TrailStep::Kind::kResize) {
    add_move(picture_move(step), step.after);
  } else if (step.arithmetic == kernel::Arithmetic::kTorchFloat) {
    return unsupported("a picture is resized by floats, which no kernel does");
  } else {
    resized = true;
    return add_resize(step);
  }
  return ok_status();
}

void AugmentList::add_color(const TrailStep& step, bool resized) {
  PictureWork& work = current_;
  const auto moves = static_cast<std::int32_t>(moves_.size()) - work.moves;
  PictureColor color{.change = change_of(step.kind).value_or(Change::kBrightness),
                     .behind = resized ? moves - work.before : moves,
                     .factor = static_cast<float>(step.factor)};
  if (step.kind == TrailStep::Kind::kGrayscale) color.number = step.channels;
  if (step.kind == TrailStep::Kind::kHue) color.number = static_cast<std::int32_t>(step.factor * 255) & 255;
  if (step.kind == TrailStep::Kind::kContrast) {
    color.height = step.before.height;
    color.width = step.before.width;
    contrasted_ = most_of(contrasted_, step.before);
    ++contrasts_;
  }
  colors_.push_back(color);
  ++work.colors;
  segment_ = moves_.size();  // what comes behind it is no part of what it changes
}

void AugmentList::add_erasure(const Erasure& erasure, Dtype dtype) {
  const auto [top, left, height, width] = erasure.rect;
  PictureErasure entry{.top = top, .left = left, .height = height, .width = width, .key = erasure.key};
  entry.deviates = erasure.fill == Erasure::Fill::kNormalPerPixel ? 1 : 0;
  for (std::int32_t c = 0; entry.deviates == 0 && c < 4; ++c) entry.levels[c] = erased_level(dtype, erasure, c);
  erasures_.push_back(entry);
  ++current_.erasures;
}

void AugmentList::add_move(PictureMove move, Extent after) {
  const auto& [down, across] = move.axes;
  if (changes_nothing(down, after.height) && changes_nothing(across, after.width)) return;
  const bool joins = stays_inside(down, after.height) && stays_inside(across, after.width);
  if (!joins || moves_.size() == segment_) {
    moves_.push_back(move);
    return;
  }
  // It reads nothing but what the move before it has made: the two are one.
  for (std::size_t axis = 0; axis < 2; ++axis) {
    AxisMove& joined = moves_.back().axes[axis];
    joined.start += joined.step * move.axes[axis].start;
    joined.step *= move.axes[axis].step;
  }
}

Status AugmentList::add_resize(const TrailStep& step) {
  PictureWork& work = current_;
  work.before = static_cast<std::int32_t>(moves_.size()) - work.moves;
  work.vertical_first = vertical_first(step) ? 1 : 0;
  segment_ = moves_.size();
  for (std::size_t axis = 0; axis < 2; ++axis) {
    auto planned = plan(step, axis);
    if (!planned.ok()) return std::move(planned).error();
    work.axes[axis] = *planned;
  }
  return ok_status();
}

Result<ResizeAxis> AugmentList::plan(const TrailStep& step, std::size_t axis) {
  const std::int32_t in = side(step.before, axis);
  const std::int32_t out = side(step.after, axis);
  if (in == out) return ResizeAxis{};
  Planned& latest = planned_[axis];
  const bool again = latest.known && side(latest.step.before, axis) == in && latest.axis.out == out &&
                     latest.step.nearest == step.nearest && latest.step.filter == step.filter &&
                     latest.step.arithmetic == step.arithmetic;
  if (again) return latest.axis;
  ResizeAxis axis_plan{.plan = static_cast<std::int32_t>(plans_.size()), .out = out, .stride = 1};
  const auto outputs = static_cast<std::size_t>(out);
  if (step.nearest) {
    plans_.resize(plans_.size() + 3 * outputs, std::int32_t{1} << kernel::kWeightBits);
    const std::span<std::int32_t> first(plans_.data() + axis_plan.plan, outputs);
    const std::span<std::int32_t> count(first.data() + outputs, outputs);
    kernel::nearest_pixels(first, in);
    for (std::size_t i = 0; i < outputs; ++i) {
      count[i] = first[i] < 0 ? 0 : 1;
      first[i] = std::max(first[i], 0);
    }
  } else {
    const auto pass = axis == 0 ? kernel::ResizePass::kVertical : kernel::ResizePass::kHorizontal;
    DRAPPS_RETURN_IF_ERROR(planner_.make(in, out, step.filter, step.arithmetic, pass, kernel::Level::kPortable));
    const kernel::Axis& plan = planner_.axis();
    axis_plan.stride = plan.stride;
    plans_.insert(plans_.end(), plan.first, plan.first + outputs);
    plans_.insert(plans_.end(), plan.count, plan.count + outputs);
    plans_.insert(plans_.end(), plan.weights, plan.weights + outputs * static_cast<std::size_t>(plan.stride));
  }
  latest = {.known = true, .step = step, .axis = axis_plan};
  return axis_plan;
}

std::size_t AugmentList::bytes() const noexcept {
  std::size_t work = bytes_of(last_.work);
  for (const AugmentLaunch& launch : kept_) work += bytes_of(launch.work);
  return work + bytes_of(erasures_) + bytes_of(moves_) + bytes_of(colors_) + bytes_of(plans_);
}

/// Where on the device the means of contrasts lie, launch by launch, and their sums.
std::size_t AugmentList::means_at() const noexcept { return aligned(bytes()); }

/// Where pictures lie that are kept.
std::size_t AugmentList::kept_at() const noexcept {
  std::size_t at = means_at() + last_.bytes_of_means();
  for (const AugmentLaunch& launch : kept_) at += launch.bytes_of_means();
  return at;
}

std::size_t AugmentList::device_bytes() const noexcept {
  const std::size_t at = kept_at();
  return at == means_at() && kept_bytes_ == 0 ? bytes() : at + kept_bytes_;
}

void AugmentList::put(std::byte* memory, std::byte* there, AugmentArguments& arguments) const noexcept {
  arguments.contrasts = last_.contrasts;
  arguments.means = reinterpret_cast<const std::uint8_t*>(there + means_at());
  arguments.kept = reinterpret_cast<std::uint8_t*>(there + kept_at());
  put_list(memory, there, last_.work, arguments.work);  // the most strictly aligned come first
  const PictureWork* behind = nullptr;
  for (const AugmentLaunch& launch : kept_) put_list(memory, there, launch.work, behind);
  put_list(memory, there, erasures_, arguments.erasures);
  put_list(memory, there, moves_, arguments.moves);
  put_list(memory, there, colors_, arguments.colors);
  put_list(memory, there, plans_, arguments.plans);
}

Status AugmentList::launch(Stream& stream, const AugmentArguments& arguments) const {
  // Work and means of pictures that are kept lie behind those of the last launch, which is that of all pictures.
  AugmentArguments part = arguments;
  part.work += last_.work.size();
  part.means += last_.bytes_of_means();
  for (const AugmentLaunch& launch : kept_) {
    if (launch.work.empty()) continue;
    part.contrasts = launch.contrasts;
    DRAPPS_RETURN_IF_ERROR(launch_means(stream, part, launch));
    const KeepArguments keep{.augment = part, .height = launch.kept.height, .width = launch.kept.width};
    const std::int64_t blocks = Keep::blocks(keep, static_cast<std::int64_t>(launch.work.size()));
    DRAPPS_RETURN_IF_ERROR(stream.launch(KernelId::kKeep, blocks, &keep));
    part.work += launch.work.size();
    part.means += launch.bytes_of_means();
  }
  DRAPPS_RETURN_IF_ERROR(launch_means(stream, arguments, last_));
  const std::int64_t blocks = Augment::blocks(arguments, static_cast<std::int64_t>(last_.work.size()));
  return stream.launch(KernelId::kAugment, blocks, &arguments);
}

/// What contrasts blend with of the pictures of a launch.
Status AugmentList::launch_means(Stream& stream, const AugmentArguments& arguments, const AugmentLaunch& launch) const {
  if (launch.contrasts == 0) return ok_status();
  const auto pictures = static_cast<std::int64_t>(launch.work.size());
  auto* const means = const_cast<std::uint8_t*>(arguments.means);
  ContrastArguments contrast{.augment = arguments,
                             .height = launch.contrasted.height,
                             .width = launch.contrasted.width,
                             .sums = reinterpret_cast<std::uint32_t*>(means + launch.mean_bytes()),
                             .means = means};
  for (; contrast.round < launch.contrasts; ++contrast.round) {
    const std::int64_t blocks = ContrastSum::blocks(contrast, pictures);
    DRAPPS_RETURN_IF_ERROR(stream.launch(KernelId::kContrastSum, blocks, &contrast));
    DRAPPS_RETURN_IF_ERROR(stream.launch(KernelId::kContrastMean, pictures, &contrast));
  }
  return ok_status();
}

}  // namespace drapps::device
