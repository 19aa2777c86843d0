#include "drapps/decode/check.h"

#include <string>

namespace drapps {
namespace {

std::string size_of(std::int32_t height, std::int32_t width) {
  return std::to_string(width) + "x" + std::to_string(height);
}

}  // namespace

Status check_extent(const Extent& extent, const DecodeOptions& options, std::int64_t at) {
  if (extent.height <= 0 || extent.width <= 0) {
    return decode_error(ErrorCode::kCorrupt,
                        "a picture of " + size_of(extent.height, extent.width) + " pixels; the file is damaged", at);
  }
  if (std::int64_t{extent.height} * extent.width > options.max_pixels) {
    return decode_error(ErrorCode::kTooLarge,
                        "a picture of " + size_of(extent.height, extent.width) + " pixels is above the limit of " +
                            std::to_string(options.max_pixels) +
                            " pixels; make it smaller, leave it out of the data set, or, in a PyTorch loader, have "
                            "Pillow read it by PIL.Image.MAX_IMAGE_PIXELS = None",
                        at);
  }
  return ok_status();
}

Status check_region(const Rect& region, const Extent& extent) {
  const bool inside = region.top >= 0 && region.left >= 0 && region.height > 0 && region.width > 0 &&
                      region.top <= extent.height - region.height && region.left <= extent.width - region.width;
  if (inside) return ok_status();
  return decode_error(ErrorCode::kInvalidArgument, "the region " + size_of(region.height, region.width) + " at (" +
                                                       std::to_string(region.left) + ", " + std::to_string(region.top) +
                                                       ") does not lie within the picture of " +
                                                       size_of(extent.height, extent.width) + " pixels");
}

}  // namespace drapps
