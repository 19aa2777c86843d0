#include "drapps/augment/picture/moves.h"

#include <algorithm>
#include <cmath>

#include "drapps/augment/picture/geometry.h"
#include "drapps/kernel/planes.h"

namespace drapps {
namespace moves {
namespace {

/// The part of a view of the sample's window that shows `rect` of the whole picture.
ImageView part(const Picture& picture, const ImageView& view, const Rect& rect) noexcept {
  return view.crop({rect.top - picture.window.top, rect.left - picture.window.left, rect.height, rect.width});
}

void settle(Picture& picture, Extent extent) noexcept {
  picture.extent = extent;
  picture.window = geometry::whole_rect(extent);
}

/// Moves each box by `move`, clips it to `extent` and drops what is then empty.
template <class Move>
void move_boxes(Picture& picture, Extent extent, Move move) {
  const auto width = static_cast<float>(extent.width);
  const auto height = static_cast<float>(extent.height);
  const bool has_rows = picture.box_rows.size() == picture.boxes.size();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < picture.boxes.size(); ++i) {
    const Box moved = move(picture.boxes[i]);
    const Box box{std::clamp(moved.x0, 0.0F, width), std::clamp(moved.y0, 0.0F, height),
                  std::clamp(moved.x1, 0.0F, width), std::clamp(moved.y1, 0.0F, height)};
    if (!(box.x0 < box.x1 && box.y0 < box.y1)) continue;
    picture.boxes[kept] = box;
    if (has_rows) picture.box_rows[kept] = picture.box_rows[i];
    ++kept;
  }
  picture.boxes.resize(kept);
  if (has_rows) picture.box_rows.resize(kept);
}

void shift_boxes(Picture& picture, const Rect& rect) {
  const auto left = static_cast<float>(rect.left);
  const auto top = static_cast<float>(rect.top);
  move_boxes(picture, {rect.height, rect.width},
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
Result<ImageView> bordered(const Picture& picture, const ImageView& view, const Rect& rect, PadMode mode,
                           std::span<const std::uint8_t> value, Next next) {
  const Rect whole = geometry::whole_rect(picture.extent);
  const Rect inside = geometry::intersection(rect, whole);
  const std::span<const std::uint8_t> levels = value.first(static_cast<std::size_t>(view.channels));
  if (mode == PadMode::kConstant) {
    auto out = next(Extent{rect.height, rect.width});
    if (!out.ok()) return out;
    if (inside.height == 0) {
      kernel::fill(*out, levels);
    } else {
      kernel::pad(*out, part(picture, view, inside), inside.top - rect.top, inside.left - rect.left, mode, levels);
    }
    return out;
  }
  // The other modes look at the picture's far side for wide borders, so the border is made of all of it.
  const Rect all = hull(rect, whole);
  auto padded = next(Extent{all.height, all.width});
  if (!padded.ok()) return padded;
  kernel::pad(*padded, part(picture, view, whole), -all.top, -all.left, mode, levels);
  return padded->crop({rect.top - all.top, rect.left - all.left, rect.height, rect.width});
}

/// Whether the move was noted instead of made. `move` has all fields but the sizes, which are set here.
bool noted(Picture& picture, OpContext& ctx, TrailStep move, Extent after) {
  if (ctx.trail == nullptr) return false;
  move.before = picture.extent;
  move.after = after;
  ctx.trail->steps.push_back(move);
  settle(picture, after);
  return true;
}

template <class Flip>
Status flip(Picture& picture, OpContext& ctx, Flip pixels) {
  const Rect whole = geometry::whole_rect(picture.extent);
  auto image = ctx.scratch.next_image(picture.image.channels, picture.extent);
  DRAPPS_RETURN_IF_ERROR(image);
  pixels(*image, part(picture, picture.image, whole));
  picture.image = *image;
  if (picture.mask) {
    auto mask = ctx.scratch.next_mask(picture.extent);
    DRAPPS_RETURN_IF_ERROR(mask);
    pixels(*mask, part(picture, *picture.mask, whole));
    picture.mask = *mask;
  }
  settle(picture, picture.extent);
  return ok_status();
}

}  // namespace

void crop(Picture& picture, OpContext& ctx, const Rect& rect) {
  if (noted(picture, ctx, {.kind = TrailStep::Kind::kCrop, .rect = rect}, {rect.height, rect.width})) return;
  picture.image = part(picture, picture.image, rect);
  if (picture.mask) picture.mask = part(picture, *picture.mask, rect);
  if (rect != geometry::whole_rect(picture.extent)) shift_boxes(picture, rect);
  settle(picture, {rect.height, rect.width});
}

Status resize(Picture& picture, OpContext& ctx, const Rect& rect, Extent target, const Resampling& how) {
  crop(picture, ctx, rect);
  if (target == picture.extent) return ok_status();
  const bool cubic = how.interpolation == Interpolation::kBicubic;
  const auto filter = cubic ? kernel::Filter::kBicubic : kernel::Filter::kBilinear;
  const bool nearest = how.interpolation == Interpolation::kNearest;
  if (noted(picture, ctx,
            {.kind = TrailStep::Kind::kResize,
             .nearest = nearest,
             .filter = filter,
             .order = how.order,
             .arithmetic = how.arithmetic},
            target)) {
    return ok_status();
  }
  auto image = ctx.scratch.next_image(picture.image.channels, target);
  DRAPPS_RETURN_IF_ERROR(image);
  if (nearest) {
    kernel::resize_nearest(*image, picture.image);
  } else {
    DRAPPS_RETURN_IF_ERROR(ctx.scratch.resizer().resize(*image, picture.image, filter, how.order, how.arithmetic));
  }
  picture.image = *image;
  if (picture.mask) {
    auto mask = ctx.scratch.next_mask(target);
    DRAPPS_RETURN_IF_ERROR(mask);
    kernel::resize_nearest(*mask, *picture.mask, how.mask_nearest);
    picture.mask = *mask;
  }
  const auto across = static_cast<float>(static_cast<double>(target.width) / rect.width);
  const auto down = static_cast<float>(static_cast<double>(target.height) / rect.height);
  move_boxes(picture, target,
             [=](const Box& box) { return Box{box.x0 * across, box.y0 * down, box.x1 * across, box.y1 * down}; });
  settle(picture, target);
  return ok_status();
}

Status crop_with_border(Picture& picture, OpContext& ctx, const Rect& rect, const BorderFill& border) {
  if (geometry::contains(geometry::whole_rect(picture.extent), rect)) {
    crop(picture, ctx, rect);
    return ok_status();
  }
  const std::array<std::uint8_t, 4> levels = bytes_of(border.fill);
  if (noted(picture, ctx, {.kind = TrailStep::Kind::kCrop, .rect = rect, .border = border.mode, .fill = levels},
            {rect.height, rect.width})) {
    return ok_status();
  }
  auto image = bordered(picture, picture.image, rect, border.mode, levels,
                        [&](Extent extent) { return ctx.scratch.next_image(picture.image.channels, extent); });
  DRAPPS_RETURN_IF_ERROR(image);
  picture.image = *image;
  if (picture.mask) {
    const std::array<std::uint8_t, 1> id{static_cast<std::uint8_t>(border.mask_fill)};
    auto mask = bordered(picture, *picture.mask, rect, border.mode, id,
                         [&](Extent extent) { return ctx.scratch.next_mask(extent); });
    DRAPPS_RETURN_IF_ERROR(mask);
    picture.mask = *mask;
  }
  shift_boxes(picture, rect);
  settle(picture, {rect.height, rect.width});
  return ok_status();
}

Rect border_region(Extent whole, const Rect& rect, PadMode mode) noexcept {
  const Rect all = geometry::whole_rect(whole);
  const Rect inside = geometry::intersection(rect, all);
  if (inside == rect) return rect;
  if (mode != PadMode::kConstant) return all;
  return inside.height > 0 ? inside : Rect{0, 0, 1, 1};
}

Status flip_horizontal(Picture& picture, OpContext& ctx) {
  if (noted(picture, ctx, {.kind = TrailStep::Kind::kFlipHorizontal}, picture.extent)) return ok_status();
  if (ctx.last && !picture.mask) {
    crop(picture, ctx, geometry::whole_rect(picture.extent));
    picture.mirrored = true;
  } else {
    const auto pixels = [](ImageView out, ConstImageView in) { kernel::flip_horizontal(out, in); };
    DRAPPS_RETURN_IF_ERROR(flip(picture, ctx, pixels));
  }
  const auto width = static_cast<float>(picture.extent.width);
  for (Box& box : picture.boxes) box = {width - box.x1, box.y0, width - box.x0, box.y1};
  return ok_status();
}

Status flip_vertical(Picture& picture, OpContext& ctx) {
  if (noted(picture, ctx, {.kind = TrailStep::Kind::kFlipVertical}, picture.extent)) return ok_status();
  DRAPPS_RETURN_IF_ERROR(flip(picture, ctx, [](ImageView out, ConstImageView in) { kernel::flip_vertical(out, in); }));
  const auto height = static_cast<float>(picture.extent.height);
  for (Box& box : picture.boxes) box = {box.x0, height - box.y1, box.x1, height - box.y0};
  return ok_status();
}

}  // namespace moves
}  // namespace drapps
