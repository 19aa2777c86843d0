#include "drapps/data/image.h"

namespace drapps {

Result<ImageView> ImageBuffer::reshape(std::int32_t channels, std::int32_t height, std::int32_t width) {
  const auto alignment = static_cast<std::ptrdiff_t>(kAlignment);
  const std::ptrdiff_t row_stride = (static_cast<std::ptrdiff_t>(width) + alignment - 1) / alignment * alignment;
  const std::ptrdiff_t plane_stride = row_stride * height;
  DRAPPS_RETURN_IF_ERROR(buffer_.ensure(static_cast<std::size_t>(plane_stride * channels)));
  return ImageView{buffer_.data(), channels, height, width, row_stride, plane_stride};
}

}  // namespace drapps
