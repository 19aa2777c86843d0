// Eight-bit pictures in memory: one plane per channel, rows aligned.
//
//   ImageBuffer buffer(ledger);
//   auto view = buffer.reshape(3, height, width);
//   std::uint8_t* row = view->row(channel, y);
//
// Pictures stay planar from the decoder to the batch, because every kernel then works on whole
// vectors of one channel; only the last step, into the batch, knows NHWC.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/data/buffer.h"

namespace drapps {

/// A rectangle of pixels: rows [top, top + height), columns [left, left + width).
struct Rect {
  std::int32_t top = 0;
  std::int32_t left = 0;
  std::int32_t height = 0;
  std::int32_t width = 0;
  bool operator==(const Rect&) const = default;
};

/// Planes of uint8 pixels that somebody else owns. Byte (c, y, x) is at
/// data + c * plane_stride + y * row_stride + x. Reading up to kPadding bytes past the end of any
/// row is allowed; writing past a row's width is allowed up to row_stride.
template <class Byte>
struct BasicImageView {
  Byte* data = nullptr;
  std::int32_t channels = 0;
  std::int32_t height = 0;
  std::int32_t width = 0;
  std::ptrdiff_t row_stride = 0;    // bytes
  std::ptrdiff_t plane_stride = 0;  // bytes

  Byte* row(std::int32_t channel, std::int32_t y) const noexcept {
    return data + channel * plane_stride + y * row_stride;
  }
  Byte* plane(std::int32_t channel) const noexcept { return data + channel * plane_stride; }

  /// The part of the picture inside `rect`, which lies within it.
  BasicImageView crop(const Rect& rect) const noexcept {
    return {data + rect.top * row_stride + rect.left, channels, rect.height, rect.width, row_stride, plane_stride};
  }
  operator BasicImageView<const Byte>() const noexcept {  // NOLINT(google-explicit-constructor)
    return {data, channels, height, width, row_stride, plane_stride};
  }
};

using ImageView = BasicImageView<std::uint8_t>;
using ConstImageView = BasicImageView<const std::uint8_t>;

/// Memory for one picture, reused from sample to sample.
class ImageBuffer {
 public:
  explicit ImageBuffer(MemoryLedger& ledger) noexcept : buffer_(ledger) {}

  /// A view of `channels` planes of `height` x `width`, content unspecified. It holds until the next
  /// call. kResourceExhausted as Buffer::ensure.
  Result<ImageView> reshape(std::int32_t channels, std::int32_t height, std::int32_t width);

  std::size_t capacity() const noexcept { return buffer_.capacity(); }
  void reset() noexcept { buffer_.reset(); }

 private:
  Buffer buffer_;
};

}  // namespace drapps
