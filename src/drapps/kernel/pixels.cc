#include "drapps/kernel/pixels.h"

#include <cstring>

#include "drapps/kernel/planes.h"

namespace drapps::kernel {
namespace {

/// Kernels may read kPadding bytes past a row.
bool readable_behind(std::span<const std::uint8_t> memory, std::ptrdiff_t end) noexcept {
  return end + static_cast<std::ptrdiff_t>(kPadding) <= static_cast<std::ptrdiff_t>(memory.size());
}

void copy_planes(ImageView out, const PixelLayout& layout, const std::uint8_t* from) noexcept {
  const auto width = static_cast<std::size_t>(out.width);
  const bool interleaved = layout.channels == 3 && layout.channel_stride == 1 && layout.pixel_stride == 3;
  for (std::int32_t y = 0; y < out.height; ++y) {
    const std::uint8_t* row = from + y * layout.row_stride;
    if (interleaved) {
      deinterleave3(out.row(0, y), out.row(1, y), out.row(2, y), row, width);
      continue;
    }
    for (std::int32_t c = 0; c < out.channels; ++c) {
      const std::uint8_t* in = row + c * layout.channel_stride;
      std::uint8_t* to = out.row(c, y);
      if (layout.pixel_stride == 1) {
        std::memcpy(to, in, width);
      } else {
        for (std::size_t x = 0; x < width; ++x) to[x] = in[static_cast<std::ptrdiff_t>(x) * layout.pixel_stride];
      }
    }
  }
}

}  // namespace

Result<ImageView> planes_of(const PixelLayout& layout, std::span<const std::uint8_t> memory, ImageBuffer& copy) {
  const auto [height, width] = layout.extent;
  const bool whole_rows = layout.pixel_stride == 1 && layout.row_stride >= width && layout.channel_stride >= 0;
  const std::ptrdiff_t end =
      (layout.channels - 1) * layout.channel_stride + (height - 1) * layout.row_stride + std::ptrdiff_t{width};
  if (whole_rows && readable_behind(memory, end)) {
    // An op never writes to the picture that it reads.
    return ImageView{const_cast<std::uint8_t*>(memory.data()),
                     layout.channels,
                     height,
                     width,
                     layout.row_stride,
                     layout.channel_stride};
  }
  auto planes = copy.reshape(layout.channels, height, width);
  if (planes.ok()) copy_planes(*planes, layout, memory.data());
  return planes;
}

Result<ImageView> lines_of(const PixelLayout& layout, std::span<const std::uint8_t> memory, ImageBuffer& copy) {
  const std::int32_t count = layout.extent.height * layout.extent.width;
  const bool whole_planes = layout.pixel_stride == 1 &&
                            (layout.row_stride == layout.extent.width || layout.extent.height == 1) &&
                            layout.channel_stride >= 0;
  if (whole_planes && readable_behind(memory, (layout.channels - 1) * layout.channel_stride + count)) {
    return ImageView{const_cast<std::uint8_t*>(memory.data()), layout.channels, 1, count, count, layout.channel_stride};
  }
  auto planes = copy.reshape(layout.channels, 1, count);
  if (!planes.ok()) return planes;
  // Rows without gaps between them are copied as one.
  const bool joined = layout.row_stride == layout.pixel_stride * layout.extent.width;
  const auto [height, width] = joined ? Extent{1, count} : layout.extent;
  copy_planes({planes->data, layout.channels, height, width, width, planes->plane_stride}, layout, memory.data());
  return planes;
}

}  // namespace drapps::kernel
