#include "drapps/kernel/resize.h"

#include <cstring>

#include "drapps/kernel/resize_kernels.h"

namespace drapps::kernel {
namespace {

void copy_picture(ImageView out, ConstImageView in) noexcept {
  for (std::int32_t c = 0; c < in.channels; ++c) {
    for (std::int32_t y = 0; y < in.height; ++y) {
      std::memcpy(out.row(c, y), in.row(c, y), static_cast<std::size_t>(in.width));
    }
  }
}

Status checked(ImageView out, ConstImageView in) {
  if (in.width > 0 && in.height > 0 && out.width > 0 && out.height > 0 && in.channels == out.channels) {
    return ok_status();
  }
  return Error{.code = ErrorCode::kInvalidArgument,
               .stage = Stage::kAugment,
               .message = "a picture of " + std::to_string(in.height) + " x " + std::to_string(in.width) +
                          " cannot be resized to " + std::to_string(out.height) + " x " + std::to_string(out.width) +
                          "; both need at least one pixel and the same channels"};
}

/// Whether nothing is to be done along a dimension.
bool stays(const Span& span, std::int32_t out) noexcept {
  return out == span.whole && span.begin == 0 && span.end == static_cast<float>(span.whole);
}

Span part_of(float begin, float end, std::int32_t whole, std::int32_t out, Filter filter) noexcept {
  const Span span{begin, end, whole, 0, whole};
  return stays(span, out) ? span : read_by(span, out, filter);
}

}  // namespace

ResizeBox::ResizeBox(Extent whole, std::array<float, 4> box, Extent out, Filter filter) noexcept
    : across_(part_of(box[0], box[2], whole.width, out.width, filter)),
      down_(part_of(box[1], box[3], whole.height, out.height, filter)) {}

const ResizeKernels& resize_kernels(Level level) noexcept {
  switch (level) {
    case Level::kAvx512Vbmi: return kResizeAvx512Vbmi;
    case Level::kAvx512: return kResizeAvx512;
    case Level::kAvx2: return kResizeAvx2;
    case Level::kPortable: break;
  }
  return kResizePortable;
}

Status Resizer::resize(ImageView out, ConstImageView in, Filter filter, PassOrder order, Arithmetic arithmetic) {
  DRAPPS_RETURN_IF_ERROR(checked(out, in));
  if (arithmetic == Arithmetic::kTorchFloat) return floats_.resize(out, in);
  if (arithmetic != Arithmetic::kPillow) order = PassOrder::kHorizontalFirst;
  return run(out, in, filter, arithmetic, order, Span::all(in.width), Span::all(in.height));
}

Status Resizer::resize(ImageView out, ConstImageView in, Filter filter, PassOrder order, const ResizeBox& box) {
  DRAPPS_RETURN_IF_ERROR(checked(out, in));
  return run(out, in, filter, Arithmetic::kPillow, order, box.across(), box.down());
}

Status Resizer::run(ImageView out, ConstImageView in, Filter filter, Arithmetic arithmetic, PassOrder order,
                    const Span& wide, const Span& high) {
  const bool across = !stays(wide, out.width);
  const bool down = !stays(high, out.height);
  if (!across && !down) {
    copy_picture(out, in);
    return ok_status();
  }
  const bool vertical_first = runs_vertical_first(order, {high.whole, wide.whole}, {out.height, out.width});
  const ResizeKernels& kernels = resize_kernels(level_);
  if (across)
    DRAPPS_RETURN_IF_ERROR(horizontal_.make(wide, out.width, filter, arithmetic, ResizePass::kHorizontal, level_));
  if (down) DRAPPS_RETURN_IF_ERROR(vertical_.make(high, out.height, filter, arithmetic, ResizePass::kVertical, level_));

  // One plane at a time, so that what lies between the passes stays in the nearest caches.
  const std::int32_t middle_width = vertical_first ? in.width : out.width;
  const std::int32_t middle_height = vertical_first ? out.height : in.height;
  const auto alignment = static_cast<std::ptrdiff_t>(kAlignment);
  const std::ptrdiff_t middle_stride = (middle_width + alignment - 1) / alignment * alignment;
  if (across && down) DRAPPS_RETURN_IF_ERROR(between_.ensure(static_cast<std::size_t>(middle_stride * middle_height)));

  for (std::int32_t c = 0; c < in.channels; ++c) {
    const ConstPlaneRows source{in.plane(c), in.row_stride};
    const PlaneRows target{out.plane(c), out.row_stride};
    const PlaneRows middle{between_.data(), middle_stride};
    const ConstPlaneRows middle_read{between_.data(), middle_stride};
    if (!down) {
      kernels.horizontal(target, source, in.height, horizontal_.axis(), horizontal_.packed());
    } else if (!across) {
      kernels.vertical(target, source, in.width, vertical_.axis(), vertical_.packed());
    } else if (vertical_first) {
      kernels.vertical(middle, source, in.width, vertical_.axis(), vertical_.packed());
      kernels.horizontal(target, middle_read, out.height, horizontal_.axis(), horizontal_.packed());
    } else {
      kernels.horizontal(middle, source, in.height, horizontal_.axis(), horizontal_.packed());
      kernels.vertical(target, middle_read, out.width, vertical_.axis(), vertical_.packed());
    }
  }
  return ok_status();
}

void Resizer::reset() noexcept {
  horizontal_.reset();
  vertical_.reset();
  between_.reset();
  floats_.reset();
}

}  // namespace drapps::kernel
