// Pictures for the kernels' tests: random pixels in memory whose every other byte is watched.
#pragma once

#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "drapps/data/image.h"

namespace drapps::kernel {

/// Planes with odd strides inside a guarded block, so that a kernel that assumes alignment or writes past its
/// pixels is caught.
class TestPicture {
 public:
  static constexpr std::uint8_t kGuard = 0xA5;

  TestPicture(std::int32_t channels, std::int32_t height, std::int32_t width)
      : row_stride_(width + 7),
        bytes_(static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) *
                       static_cast<std::size_t>(width + 7) +
                   2 * kPadding,
               kGuard),
        view_{bytes_.data() + kPadding - 1, channels, height, width, row_stride_, row_stride_ * height} {}

  /// Random bytes, with runs of the extremes.
  void randomize(std::uint32_t seed) {
    std::mt19937 random(seed);
    for (std::int32_t c = 0; c < view_.channels; ++c) {
      for (std::int32_t y = 0; y < view_.height; ++y) {
        for (std::int32_t x = 0; x < view_.width; ++x) {
          const auto r = static_cast<std::uint32_t>(random());
          view_.row(c, y)[x] = static_cast<std::uint8_t>((x / 5 + y / 3) % 4 == 0 ? (r & 1 ? 255 : 0) : r >> 24);
        }
      }
    }
  }

  ImageView view() const { return view_; }

  bool operator==(const TestPicture& other) const { return bytes_ == other.bytes_; }

  /// Whether every byte outside the pixels still is what it was.
  bool guards_hold() const {
    std::vector<std::uint8_t> copy = bytes_;
    const std::ptrdiff_t start = view_.data - bytes_.data();
    for (std::int32_t c = 0; c < view_.channels; ++c) {
      for (std::int32_t y = 0; y < view_.height; ++y) {
        std::memset(copy.data() + start + c * view_.plane_stride + y * view_.row_stride, kGuard,
                    static_cast<std::size_t>(view_.width));
      }
    }
    return copy == std::vector<std::uint8_t>(copy.size(), kGuard);
  }

 private:
  std::ptrdiff_t row_stride_;
  std::vector<std::uint8_t> bytes_;
  ImageView view_;
};

}  // namespace drapps::kernel
