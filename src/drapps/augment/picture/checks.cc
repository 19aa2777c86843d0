#include "drapps/augment/picture/checks.h"

namespace drapps {
namespace {

std::string number(double x) {
  std::string text = std::to_string(x);
  while (text.back() == '0') text.pop_back();
  if (text.back() == '.') text.pop_back();
  return text;
}

}  // namespace

Error op_error(std::string_view tag, const std::string& message, Stage stage) {
  return {.code = ErrorCode::kInvalidArgument, .stage = stage, .message = std::string(tag) + ": " + message};
}

std::string to_string(Extent extent) { return std::to_string(extent.height) + " x " + std::to_string(extent.width); }

Status check_not_erased(std::string_view tag, const PictureSpec& in) {
  if (!in.erased) return ok_status();
  return op_error(tag, "an erasure happens to the finished row, so no op may follow random_erasing; put it last");
}

Status check_probability(std::string_view tag, double p) {
  if (p >= 0 && p <= 1) return ok_status();
  return op_error(tag, "p is " + number(p) + ", which is no probability; give a number from 0 to 1");
}

Status check_sides(std::string_view tag, std::int32_t height, std::int32_t width) {
  if (height >= 1 && height <= kMaxSide && width >= 1 && width <= kMaxSide) return ok_status();
  return op_error(tag, "the size is " + to_string({height, width}) + "; each side must be from 1 to " +
                           std::to_string(kMaxSide) + " pixels");
}

Status check_range(std::string_view tag, std::string_view name, const std::array<double, 2>& range, double least,
                   double most) {
  if (range[0] >= least && range[0] <= range[1] && range[1] <= most) return ok_status();
  return op_error(tag, std::string(name) + " is [" + number(range[0]) + ", " + number(range[1]) +
                           "]; give a range that rises, from " + number(least) + " to at most " + number(most));
}

Status check_arithmetic(std::string_view tag, Interpolation interpolation, kernel::PassOrder order,
                        kernel::Arithmetic arithmetic) {
  if (arithmetic == kernel::Arithmetic::kPillow) return ok_status();
  const std::string name(name_of(arithmetic));
  if (interpolation == Interpolation::kNearest) {
    return op_error(tag, "arithmetic " + name + " has no nearest; give bilinear or bicubic, or arithmetic pillow");
  }
  if (arithmetic == kernel::Arithmetic::kTorchFloat && interpolation != Interpolation::kBilinear) {
    return op_error(tag, "arithmetic " + name + " is bilinear alone; give that, or another arithmetic");
  }
  if (order == kernel::PassOrder::kHorizontalFirst) return ok_status();
  return op_error(tag, "arithmetic " + name + " runs the horizontal pass first; leave pass_order away");
}

Status check_border(std::string_view tag, std::span<const std::int32_t> widths, std::span<const std::int32_t> fill,
                    std::int32_t mask_fill) {
  for (const std::int32_t width : widths) {
    if (width < 0 || width > kMaxSide) {
      return op_error(tag, "a border of " + std::to_string(width) + " pixels; give 0 to " + std::to_string(kMaxSide) +
                               ", and crop to make a picture smaller");
    }
  }
  if (fill.empty() || fill.size() > 4) {
    return op_error(tag, "fill has " + std::to_string(fill.size()) + " levels; give one, or one per channel");
  }
  for (const std::int32_t level : fill) {
    if (level < 0 || level > 255) {
      return op_error(tag, "fill has a level of " + std::to_string(level) + "; give levels from 0 to 255");
    }
  }
  if (mask_fill < 0 || mask_fill > 255) {
    return op_error(tag, "mask_fill is " + std::to_string(mask_fill) + "; give a class id from 0 to 255");
  }
  return ok_status();
}

Status check_per_channel(std::string_view tag, std::string_view name, std::size_t values, std::int32_t channels) {
  if (values == 1 || values == static_cast<std::size_t>(channels)) return ok_status();
  return op_error(tag, std::string(name) + " has " + std::to_string(values) + " values, the pictures have " +
                           std::to_string(channels) + " channels; give one value, or one per channel");
}

}  // namespace drapps
