// Numbers in memory that somebody else made: where they lie, and what they are.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "drapps/data/dtype.h"
#include "drapps/data/image.h"
#include "drapps/data/picture.h"

namespace drapps {

/// One array, a row for each record. The elements of a row follow one another without gaps; the rows may lie anywhere.
struct Array {
  std::string name;  // of its column in a batch
  Dtype dtype = Dtype::kUint8;
  std::vector<std::int64_t> row_shape;
  const std::byte* data = nullptr;  // row 0
  std::ptrdiff_t stride = 0;        // bytes from one row to the next
  std::uint64_t rows = 0;

  std::size_t row_bytes() const noexcept {
    std::size_t bytes = size_of(dtype);
    for (const std::int64_t side : row_shape) bytes *= static_cast<std::size_t>(side);
    return bytes;
  }
};

/// How the uint8 pixels of a picture lie: byte (c, y, x) is c * channel_stride + y * row_stride + x * pixel_stride
/// behind the first.
struct PixelLayout {
  std::int32_t channels = 1;  // 1 … 4
  Extent extent;
  std::ptrdiff_t channel_stride = 0;
  std::ptrdiff_t row_stride = 0;
  std::ptrdiff_t pixel_stride = 0;
};

/// An array of uint8 pictures, all of one size.
struct PictureArray {
  std::string name;
  PixelLayout layout;
  const std::uint8_t* data = nullptr;  // of row 0
  std::ptrdiff_t stride = 0;           // bytes from one picture to the next
  std::uint64_t rows = 0;

  const std::uint8_t* row(std::uint64_t row) const noexcept { return data + static_cast<std::ptrdiff_t>(row) * stride; }
  /// The address behind the last byte of the memory that holds all pictures. Requires rows.
  const std::uint8_t* end() const noexcept {
    const auto reach = [](std::ptrdiff_t step, std::int64_t count) {
      return std::max(step, std::ptrdiff_t{0}) * static_cast<std::ptrdiff_t>(count - 1);
    };
    return data + reach(stride, static_cast<std::int64_t>(rows)) + reach(layout.channel_stride, layout.channels) +
           reach(layout.row_stride, layout.extent.height) + reach(layout.pixel_stride, layout.extent.width) + 1;
  }
};

}  // namespace drapps
