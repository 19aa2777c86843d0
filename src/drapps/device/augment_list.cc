#include "drapps/device/augment_list.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "drapps/base/caught.h"
#include "drapps/kernel/resize.h"

namespace drapps::device {
namespace {

Error unsupported(const std::string& message) {
  return {.code = ErrorCode::kUnsupported, .stage = Stage::kAugment, .message = message};
}

bool resizes(const Op& op) {
  return std::visit(
      []<class T>(const T&) {
        return std::is_same_v<T, Resize> || std::is_same_v<T, RandomResize> || std::is_same_v<T, RandomResizedCrop> ||
               std::is_same_v<T, ResizeKeepRatio>;
      },
      op);
}

bool resizes_by_floats(const Op& op) {
  return std::visit(
      []<class T>(const T& one) {
        if constexpr (requires { one.arithmetic; }) return one.arithmetic == kernel::Arithmetic::kTorchFloat;
        return false;
      },
      op);
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

PictureMove picture_move(const TrailMove& move) noexcept {
  const auto [height, width] = move.before;
  PictureMove made{.axes = {{0, 1, height}, {0, 1, width}}};
  switch (move.kind) {
    case TrailMove::Kind::kCrop:
      made.axes[0].start = move.rect.top;
      made.axes[1].start = move.rect.left;
      made.border = static_cast<Border>(move.border);
      for (std::size_t c = 0; c < move.fill.size(); ++c) made.fill[c] = move.fill[c];
      break;
    case TrailMove::Kind::kFlipHorizontal: made.axes[1] = {width - 1, -1, width}; break;
    case TrailMove::Kind::kFlipVertical: made.axes[0] = {height - 1, -1, height}; break;
    case TrailMove::Kind::kResize: break;  // is none
  }
  return made;
}
static_assert(static_cast<int>(Border::kFill) == static_cast<int>(kernel::PadMode::kConstant) &&
              static_cast<int>(Border::kEdge) == static_cast<int>(kernel::PadMode::kEdge) &&
              static_cast<int>(Border::kReflect) == static_cast<int>(kernel::PadMode::kReflect) &&
              static_cast<int>(Border::kSymmetric) == static_cast<int>(kernel::PadMode::kSymmetric));

bool vertical_first(const TrailMove& move) noexcept {
  return !move.nearest && move.arithmetic == kernel::Arithmetic::kPillow &&
         kernel::runs_vertical_first(move.order, move.before, move.after);
}

template <class T>
void put_list(std::byte*& memory, const std::byte*& there, const std::vector<T>& list, const T*& pointer) noexcept {
  const std::size_t bytes = list.size() * sizeof(T);
  if (bytes > 0) std::memcpy(memory, list.data(), bytes);
  pointer = reinterpret_cast<const T*>(there);
  memory += bytes;
  there += bytes;
}

}  // namespace

Status check_on_device(std::span<const Op> ops) {
  std::size_t resized = 0;
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const std::string where = "op " + std::to_string(i + 1) + " (" + std::string(tag_of(ops[i])) + ") ";
    if (!moves_only(ops[i])) return unsupported(where + "changes pixels, which no kernel of a device does");
    if (resizes_by_floats(ops[i])) return unsupported(where + "resizes by floats, which no kernel of a device does");
    if (resizes(ops[i]) && ++resized > 1) return unsupported(where + "is the second resize, and a kernel does one");
  }
  return ok_status();
}

void AugmentList::clear() noexcept {
  work_.clear();
  moves_.clear();
  plans_.clear();
  for (Planned& planned : planned_) planned.known = false;
}

Status AugmentList::add(std::int64_t picture, const Trail& trail) {
  return catching([&]() -> Status {
    work_.push_back({.picture = picture, .moves = static_cast<std::int32_t>(moves_.size())});
    segment_ = moves_.size();
    bool resized = false;
    for (const TrailMove& move : trail) {
      if (move.kind != TrailMove::Kind::kResize) {
        add_move(picture_move(move), move.after);
      } else if (std::exchange(resized, true) || move.arithmetic == kernel::Arithmetic::kTorchFloat) {
        return unsupported("a picture is resized twice, or by floats, which no kernel of a device does");
      } else {
        DRAPPS_RETURN_IF_ERROR(add_resize(move));
      }
    }
    PictureWork& work = work_.back();
    const auto count = static_cast<std::int32_t>(moves_.size()) - work.moves;
    (resized ? work.after : work.before) = resized ? count - work.before : count;
    return ok_status();
  });
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

Status AugmentList::add_resize(const TrailMove& move) {
  PictureWork& work = work_.back();
  work.before = static_cast<std::int32_t>(moves_.size()) - work.moves;
  work.vertical_first = vertical_first(move) ? 1 : 0;
  segment_ = moves_.size();
  for (std::size_t axis = 0; axis < 2; ++axis) {
    auto planned = plan(move, axis);
    if (!planned.ok()) return std::move(planned).error();
    work.axes[axis] = *planned;
  }
  return ok_status();
}

Result<ResizeAxis> AugmentList::plan(const TrailMove& move, std::size_t axis) {
  const std::int32_t in = side(move.before, axis);
  const std::int32_t out = side(move.after, axis);
  if (in == out) return ResizeAxis{};
  Planned& latest = planned_[axis];
  const bool again = latest.known && side(latest.move.before, axis) == in && latest.axis.out == out &&
                     latest.move.nearest == move.nearest && latest.move.filter == move.filter &&
                     latest.move.arithmetic == move.arithmetic;
  if (again) return latest.axis;
  ResizeAxis made{.plan = static_cast<std::int32_t>(plans_.size()), .out = out, .stride = 1};
  const auto outputs = static_cast<std::size_t>(out);
  if (move.nearest) {
    plans_.resize(plans_.size() + 3 * outputs, std::int32_t{1} << kernel::kWeightBits);
    const std::span<std::int32_t> first(plans_.data() + made.plan, outputs);
    const std::span<std::int32_t> count(first.data() + outputs, outputs);
    kernel::nearest_pixels(first, in);
    for (std::size_t i = 0; i < outputs; ++i) {
      count[i] = first[i] < 0 ? 0 : 1;
      first[i] = std::max(first[i], 0);
    }
  } else {
    const auto pass = axis == 0 ? kernel::Pass::kVertical : kernel::Pass::kHorizontal;
    DRAPPS_RETURN_IF_ERROR(planner_.make(in, out, move.filter, move.arithmetic, pass, kernel::Level::kPortable));
    const kernel::Axis& plan = planner_.axis();
    made.stride = plan.stride;
    plans_.insert(plans_.end(), plan.first, plan.first + outputs);
    plans_.insert(plans_.end(), plan.count, plan.count + outputs);
    plans_.insert(plans_.end(), plan.weights, plan.weights + outputs * static_cast<std::size_t>(plan.stride));
  }
  latest = {.known = true, .move = move, .axis = made};
  return made;
}

std::size_t AugmentList::bytes() const noexcept {
  return work_.size() * sizeof(PictureWork) + moves_.size() * sizeof(PictureMove) +
         plans_.size() * sizeof(std::int32_t);
}

void AugmentList::put(std::byte* memory, const std::byte* there, AugmentArguments& arguments) const noexcept {
  put_list(memory, there, work_, arguments.work);  // the most strictly aligned comes first
  put_list(memory, there, moves_, arguments.moves);
  put_list(memory, there, plans_, arguments.plans);
}

}  // namespace drapps::device
