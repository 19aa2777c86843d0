// The reference: Pillow's loops, plainly. The other levels are compared with it byte for byte.
#include <algorithm>
#include <array>

#include "drapps/kernel/resize_kernels.h"

namespace drapps::kernel {
namespace {

constexpr std::int32_t kHalf = 1 << (kWeightBits - 1);

std::uint8_t clipped(std::int32_t sum) noexcept {
  return static_cast<std::uint8_t>(std::clamp(sum >> kWeightBits, 0, 255));
}

void horizontal(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const Axis& axis, const std::uint8_t* /*packed*/) {
  for (std::int32_t y = 0; y < rows; ++y) {
    const std::uint8_t* source = in.data + y * in.stride;
    std::uint8_t* target = out.data + y * out.stride;
    for (std::int32_t x = 0; x < axis.out; ++x) {
      const std::int32_t* w = axis.weights + static_cast<std::ptrdiff_t>(x) * axis.stride;
      const std::uint8_t* taps = source + axis.first[x];
      std::int32_t sum = kHalf;
      for (std::int32_t t = 0; t < axis.count[x]; ++t) sum += taps[t] * w[t];
      target[x] = clipped(sum);
    }
  }
}

/// Tap by tap over a strip of columns, so that the inner loop runs along the rows in memory.
void vertical(PlaneRows out, ConstPlaneRows in, std::int32_t width, const Axis& axis, const std::uint8_t* /*packed*/) {
  constexpr std::int32_t kStrip = 512;
  std::array<std::int32_t, kStrip> sums;
  for (std::int32_t y = 0; y < axis.out; ++y) {
    const std::int32_t* w = axis.weights + static_cast<std::ptrdiff_t>(y) * axis.stride;
    for (std::int32_t x0 = 0; x0 < width; x0 += kStrip) {
      const std::int32_t n = std::min(kStrip, width - x0);
      std::fill_n(sums.begin(), n, kHalf);
      for (std::int32_t t = 0; t < axis.count[y]; ++t) {
        const std::uint8_t* source = in.data + (axis.first[y] + t) * in.stride + x0;
        for (std::int32_t x = 0; x < n; ++x) sums[static_cast<std::size_t>(x)] += source[x] * w[t];
      }
      std::uint8_t* target = out.data + y * out.stride + x0;
      for (std::int32_t x = 0; x < n; ++x) target[x] = clipped(sums[static_cast<std::size_t>(x)]);
    }
  }
}

}  // namespace

const ResizeKernels kResizePortable{[](const Axis&, ResizePass) { return std::size_t{0}; },
                                    [](std::uint8_t*, const Axis&, ResizePass) {}, horizontal, vertical};

}  // namespace drapps::kernel
