#include "drapps/augment/moves.h"

#include <algorithm>
#include <cmath>

#include "drapps/augment/geometry.h"
#include "drapps/kernel/planes.h"

namespace drapps {
namespace moves {
namespace {

/// The part of a view of the sample's window that shows `rect` of the whole picture.
ImageView part(const Sample& sample, const ImageView& view, const Rect& rect) noexcept {
  return view.crop({rect.top - sample.window.top, rect.left - sample.window.left, rect.height, rect.width});
}

void settle(Sample& sample, Extent extent) noexcept {
  sample.extent = extent;
  sample.window = geometry::whole_rect(extent);
}

/// Moves each box by `move`, clips it to `extent` and drops what is then empty.
template <class Move>
void move_boxes(Sample& sample, Extent extent, Move move) {
  const auto width = static_cast<float>(extent.width);
  const auto height = static_cast<float>(extent.height);
  const bool has_rows = sample.box_rows.size() == sample.boxes.size();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < sample.boxes.size(); ++i) {
    const Box moved = move(sample.boxes[i]);
    const Box box{std::clamp(moved.x0, 0.0F, width), std::clamp(moved.y0, 0.0F, height),
                  std::clamp(moved.x1, 0.0F, width), std::clamp(moved.y1, 0.0F, height)};
    if (!(box.x0 < box.x1 && box.y0 < box.y1)) continue;
    sample.boxes[kept] = box;
    if (has_rows) sample.box_rows[kept] = sample.box_rows[i];
    ++kept;
  }
  sample.boxes.resize(kept);
  if (has_rows) sample.box_rows.resize(kept);
}

void shift_boxes(Sample& sample, const Rect& rect) {
  const auto left = static_cast<float>(rect.left);
  const auto top = static_cast<float>(rect.top);
  move_boxes(sample, {rect.height, rect.width},
             [=](const Box& box) { return Box{box.x0 - left, box.y0 - top, box.x1 - left, box.y1 - top}; });
}

std::array<std::uint8_t, 4> bytes_of(std::span<const std::int32_t> fill) noexcept {
  std::array<std::uint8_t, 4> bytes{};
  for (std::size_t c = 0; c < bytes.size(); ++c) {
    bytes[c] = static_cast<std::uint8_t>(fill.size() == 1 ? fill[0] : c < fill.size() ? fill[c] : 0);
  }
  return bytes;
}

/// The smallest rectangle that contains both.
Rect hull(const Rect& a, const Rect& b) noexcept {
  const std::int32_t top = std::min(a.top, b.top);
  const std::int32_t left = std::min(a.left, b.left);
  return {top, left, std::max(a.top + a.height, b.top + b.height) - top,
          std::max(a.left + a.width, b.left + b.width) - left};
}

/// `rect` of a picture and its border, made in memory from next(extent).
template <class Next>
Result<ImageView> bordered(const Sample& sample, const ImageView& view, const Rect& rect, PadMode mode,
                           std::span<const std::uint8_t> value, Next next) {
  const Rect whole = geometry::whole_rect(sample.extent);
  const Rect inside = geometry::intersection(rect, whole);
  const std::span<const std::uint8_t> levels = value.first(static_cast<std::size_t>(view.channels));
  if (mode == PadMode::kConstant) {
    auto out = next(Extent{rect.height, rect.width});
    if (!out.ok()) return out;
    if (inside.height == 0) {
      kernel::fill(*out, levels);
    } else {
      kernel::pad(*out, part(sample, view, inside), inside.top - rect.top, inside.left - rect.left, mode, levels);
    }
    return out;
  }
  // The other modes look at the picture's far side for wide borders, so the border is made of all of it.
  const Rect all = hull(rect, whole);
  auto padded = next(Extent{all.height, all.width});
  if (!padded.ok()) return padded;
  kernel::pad(*padded, part(sample, view, whole), -all.top, -all.left, mode, levels);
  return padded->crop({rect.top - all.top, rect.left - all.left, rect.height, rect.width});
}

template <class Flip>
Status flip(Sample& sample, OpContext& ctx, Flip pixels) {
  const Rect whole = geometry::whole_rect(sample.extent);
  auto image = ctx.scratch.next_image(sample.image.channels, sample.extent);
  DRAPPS_RETURN_IF_ERROR(image);
  pixels(*image, part(sample, sample.image, whole));
  sample.image = *image;
  if (sample.mask) {
    auto mask = ctx.scratch.next_mask(sample.extent);
    DRAPPS_RETURN_IF_ERROR(mask);
    pixels(*mask, part(sample, *sample.mask, whole));
    sample.mask = *mask;
  }
  settle(sample, sample.extent);
  return ok_status();
}

}  // namespace

void crop(Sample& sample, const Rect& rect) {
  sample.image = part(sample, sample.image, rect);
  if (sample.mask) sample.mask = part(sample, *sample.mask, rect);
  if (rect != geometry::whole_rect(sample.extent)) shift_boxes(sample, rect);
  settle(sample, {rect.height, rect.width});
}

Status resize(Sample& sample, OpContext& ctx, const Rect& rect, Extent target, const Resampling& how) {
  crop(sample, rect);
  if (target == sample.extent) return ok_status();
  auto image = ctx.scratch.next_image(sample.image.channels, target);
  DRAPPS_RETURN_IF_ERROR(image);
  if (how.interpolation == Interpolation::kNearest) {
    kernel::resize_nearest(*image, sample.image);
  } else {
    const bool cubic = how.interpolation == Interpolation::kBicubic;
    const auto filter = cubic ? kernel::Filter::kBicubic : kernel::Filter::kBilinear;
    DRAPPS_RETURN_IF_ERROR(ctx.scratch.resizer().resize(*image, sample.image, filter, how.order, how.arithmetic));
  }
  sample.image = *image;
  if (sample.mask) {
    auto mask = ctx.scratch.next_mask(target);
    DRAPPS_RETURN_IF_ERROR(mask);
    kernel::resize_nearest(*mask, *sample.mask, how.mask_nearest);
    sample.mask = *mask;
  }
  const auto across = static_cast<float>(static_cast<double>(target.width) / rect.width);
  const auto down = static_cast<float>(static_cast<double>(target.height) / rect.height);
  move_boxes(sample, target,
             [=](const Box& box) { return Box{box.x0 * across, box.y0 * down, box.x1 * across, box.y1 * down}; });
  settle(sample, target);
  return ok_status();
}

Status crop_with_border(Sample& sample, OpContext& ctx, const Rect& rect, const Border& border) {
  if (geometry::contains(geometry::whole_rect(sample.extent), rect)) {
    crop(sample, rect);
    return ok_status();
  }
  const std::array<std::uint8_t, 4> levels = bytes_of(border.fill);
  auto image = bordered(sample, sample.image, rect, border.mode, levels,
                        [&](Extent extent) { return ctx.scratch.next_image(sample.image.channels, extent); });
  DRAPPS_RETURN_IF_ERROR(image);
  sample.image = *image;
  if (sample.mask) {
    const std::array<std::uint8_t, 1> id{static_cast<std::uint8_t>(border.mask_fill)};
    auto mask = bordered(sample, *sample.mask, rect, border.mode, id,
                         [&](Extent extent) { return ctx.scratch.next_mask(extent); });
    DRAPPS_RETURN_IF_ERROR(mask);
    sample.mask = *mask;
  }
  shift_boxes(sample, rect);
  settle(sample, {rect.height, rect.width});
  return ok_status();
}

Rect border_region(Extent whole, const Rect& rect, PadMode mode) noexcept {
  const Rect all = geometry::whole_rect(whole);
  const Rect inside = geometry::intersection(rect, all);
  if (inside == rect) return rect;
  if (mode != PadMode::kConstant) return all;
  return inside.height > 0 ? inside : Rect{0, 0, 1, 1};
}

Status flip_horizontal(Sample& sample, OpContext& ctx) {
  if (ctx.last && !sample.mask) {
    crop(sample, geometry::whole_rect(sample.extent));
    sample.mirrored = true;
  } else {
    const auto pixels = [](ImageView out, ConstImageView in) { kernel::flip_horizontal(out, in); };
    DRAPPS_RETURN_IF_ERROR(flip(sample, ctx, pixels));
  }
  const auto width = static_cast<float>(sample.extent.width);
  for (Box& box : sample.boxes) box = {width - box.x1, box.y0, width - box.x0, box.y1};
  return ok_status();
}

Status flip_vertical(Sample& sample, OpContext& ctx) {
  DRAPPS_RETURN_IF_ERROR(flip(sample, ctx, [](ImageView out, ConstImageView in) { kernel::flip_vertical(out, in); }));
  const auto height = static_cast<float>(sample.extent.height);
  for (Box& box : sample.boxes) box = {box.x0, height - box.y1, box.x1, height - box.y0};
  return ok_status();
}

}  // namespace moves
}  // namespace drapps
