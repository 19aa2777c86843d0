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
  PictureMove made{.axes = {{0, 1, height}, {0, 1, width}}};
  switch (step.kind) {
    case TrailStep::Kind::kCrop:
      made.axes[0].start = step.rect.top;
      made.axes[1].start = step.rect.left;
      made.border = static_cast<Border>(step.border);
      for (std::size_t c = 0; c < step.fill.size(); ++c) made.fill[c] = step.fill[c];
      break;
    case TrailStep::Kind::kFlipHorizontal: made.axes[1] = {width - 1, -1, width}; break;
    case TrailStep::Kind::kFlipVertical: made.axes[0] = {height - 1, -1, height}; break;
    default: break;  // is none
  }
  return made;
}
static_assert(static_cast<int>(Border::kFill) == static_cast<int>(kernel::PadMode::kConstant) &&
              static_cast<int>(Border::kEdge) == static_cast<int>(kernel::PadMode::kEdge) &&
              static_cast<int>(Border::kReflect) == static_cast<int>(kernel::PadMode::kReflect) &&
              static_cast<int>(Border::kSymmetric) == static_cast<int>(kernel::PadMode::kSymmetric));

bool vertical_first(const TrailStep& step) noexcept {
  return !step.nearest && step.arithmetic == kernel::Arithmetic::kPillow &&
         kernel::runs_vertical_first(step.order, step.before, step.after);
}

/// Of a step that changes colours; nothing for one that moves pixels.
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
  return {.row_bytes = static_cast<std::int64_t>(writer.bytes()),
          .element_bytes = static_cast<std::int32_t>(size_of(format.dtype)),
          .number = number_of(format.dtype),
          .interleaved = format.layout == Layout::kNhwc ? 1 : 0,
          .channels = writer.channels(),
          .height = writer.extent().height,
          .width = writer.extent().width};
}

void AugmentList::clear() noexcept {
  work_.clear();
  erasures_.clear();
  moves_.clear();
  colors_.clear();
  plans_.clear();
  contrasts_ = 0;
  contrasted_ = {};
  for (Planned& planned : planned_) planned.known = false;
}

Status AugmentList::add(std::int64_t picture, const Trail& trail, Dtype dtype) {
  return catching([&]() -> Status {
    work_.push_back({.picture = picture,
                     .moves = static_cast<std::int32_t>(moves_.size()),
                     .first_color = static_cast<std::int32_t>(colors_.size()),
                     .first_erasure = static_cast<std::int32_t>(erasures_.size())});
    segment_ = moves_.size();
    bool resized = false;
    for (const TrailStep& step : trail.steps) DRAPPS_RETURN_IF_ERROR(add_step(step, resized));
    for (const Erasure& erasure : trail.erasures) add_erasure(erasure, dtype);
    PictureWork& work = work_.back();
    // Colours change among the moves behind the resize, or where it would be.
    const auto count = static_cast<std::int32_t>(moves_.size()) - work.moves;
    (resized || work.colors > 0 ? work.after : work.before) = resized ? count - work.before : count;
    return ok_status();
  });
}

Status AugmentList::add_step(const TrailStep& step, bool& resized) {
  if (change_of(step.kind)) {
    add_color(step, resized);
  } else if (step.kind != TrailStep::Kind::kResize) {
    add_move(picture_move(step), step.after);
  } else if (std::exchange(resized, true) || work_.back().colors > 0 ||
             step.arithmetic == kernel::Arithmetic::kTorchFloat) {
    return unsupported("a picture is resized twice, by floats or behind a change of colours, which no kernel does");
  } else {
    return add_resize(step);
  }
  return ok_status();
}

void AugmentList::add_color(const TrailStep& step, bool resized) {
  PictureWork& work = work_.back();
  const auto moves = static_cast<std::int32_t>(moves_.size()) - work.moves;
  PictureColor color{.change = change_of(step.kind).value_or(Change::kBrightness),
                     .behind = resized ? moves - work.before : moves,
                     .factor = static_cast<float>(step.factor)};
  if (step.kind == TrailStep::Kind::kGrayscale) color.number = step.channels;
  if (step.kind == TrailStep::Kind::kHue) color.number = static_cast<std::int32_t>(step.factor * 255) & 255;
  if (step.kind == TrailStep::Kind::kContrast) {
    color.height = step.before.height;
    color.width = step.before.width;
    contrasted_ = {std::max(contrasted_.height, color.height), std::max(contrasted_.width, color.width)};
    const auto is_contrast = [](const PictureColor& one) { return one.change == Change::kContrast; };
    const auto earlier = std::count_if(colors_.begin() + work.first_color, colors_.end(), is_contrast);
    contrasts_ = std::max(contrasts_, static_cast<std::int32_t>(earlier) + 1);
  }
  colors_.push_back(color);
  ++work.colors;
  segment_ = moves_.size();  // what comes behind it is no part of what it changes
}

void AugmentList::add_erasure(const Erasure& erasure, Dtype dtype) {
  const auto [top, left, height, width] = erasure.rect;
  PictureErasure made{.top = top, .left = left, .height = height, .width = width, .key = erasure.key};
  made.deviates = erasure.fill == Erasure::Fill::kNormalPerPixel ? 1 : 0;
  for (std::int32_t c = 0; made.deviates == 0 && c < 4; ++c) made.levels[c] = erased_level(dtype, erasure, c);
  erasures_.push_back(made);
  ++work_.back().erasures;
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
  PictureWork& work = work_.back();
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
  ResizeAxis made{.plan = static_cast<std::int32_t>(plans_.size()), .out = out, .stride = 1};
  const auto outputs = static_cast<std::size_t>(out);
  if (step.nearest) {
    plans_.resize(plans_.size() + 3 * outputs, std::int32_t{1} << kernel::kWeightBits);
    const std::span<std::int32_t> first(plans_.data() + made.plan, outputs);
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
    made.stride = plan.stride;
    plans_.insert(plans_.end(), plan.first, plan.first + outputs);
    plans_.insert(plans_.end(), plan.count, plan.count + outputs);
    plans_.insert(plans_.end(), plan.weights, plan.weights + outputs * static_cast<std::size_t>(plan.stride));
  }
  latest = {.known = true, .step = step, .axis = made};
  return made;
}

std::size_t AugmentList::bytes() const noexcept {
  return bytes_of(work_) + bytes_of(erasures_) + bytes_of(moves_) + bytes_of(colors_) + bytes_of(plans_);
}

/// Where the means of contrasts lie on the device; behind them, the sums.
std::size_t AugmentList::means_at() const noexcept { return aligned(bytes()); }

std::size_t AugmentList::device_bytes() const noexcept {
  if (contrasts_ == 0) return bytes();
  const std::size_t means = aligned(work_.size() * static_cast<std::size_t>(contrasts_));
  const auto tiles = static_cast<std::size_t>(Tile::count(contrasted_.height, contrasted_.width));
  return means_at() + means + work_.size() * tiles * sizeof(std::uint32_t);
}

void AugmentList::put(std::byte* memory, std::byte* there, AugmentArguments& arguments) const noexcept {
  arguments.contrasts = contrasts_;
  arguments.means = reinterpret_cast<const std::uint8_t*>(there + means_at());
  put_list(memory, there, work_, arguments.work);  // the most strictly aligned come first
  put_list(memory, there, erasures_, arguments.erasures);
  put_list(memory, there, moves_, arguments.moves);
  put_list(memory, there, colors_, arguments.colors);
  put_list(memory, there, plans_, arguments.plans);
}

Status AugmentList::launch(Stream& stream, const AugmentArguments& arguments) const {
  const auto pictures = static_cast<std::int64_t>(work_.size());
  if (contrasts_ > 0) {
    auto* const means = const_cast<std::uint8_t*>(arguments.means);
    ContrastArguments contrast{
        .augment = arguments,
        .height = contrasted_.height,
        .width = contrasted_.width,
        .sums = reinterpret_cast<std::uint32_t*>(means + aligned(work_.size() * static_cast<std::size_t>(contrasts_))),
        .means = means};
    for (; contrast.round < contrasts_; ++contrast.round) {
      const std::int64_t blocks = ContrastSum::blocks(contrast, pictures);
      DRAPPS_RETURN_IF_ERROR(stream.launch(KernelId::kContrastSum, blocks, &contrast));
      DRAPPS_RETURN_IF_ERROR(stream.launch(KernelId::kContrastMean, pictures, &contrast));
    }
  }
  return stream.launch(KernelId::kAugment, Augment::blocks(arguments, pictures), &arguments);
}

}  // namespace drapps::device
