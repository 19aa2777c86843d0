#include "drapps/kernel/resize_float.h"

#include <algorithm>
#include <cmath>

namespace drapps::kernel {
namespace {

/// The numbers of step 1 of resize_float.h: their types are PyTorch's.
struct FloatGeometry {
  float scale, support, inverse;
  std::int32_t taps, padded;

  FloatGeometry(std::int32_t in, std::int32_t out) noexcept
      : scale(static_cast<float>(in) / static_cast<float>(out)),
        support(std::max(scale, 1.0F)),
        inverse(scale >= 1.0F ? static_cast<float>(1.0 / scale) : 1.0F),
        taps(std::min(static_cast<std::int32_t>(std::ceil(support)) * 2 + 1, in)),
        padded((out + kFloatSide - 1) / kFloatSide * kFloatSide) {}

  std::size_t size() const noexcept { return static_cast<std::size_t>(padded) * (static_cast<std::size_t>(taps) + 2); }
};

/// Fills `memory`, geometry.size() numbers.
FloatAxis make_axis(std::int32_t in, std::int32_t out, const FloatGeometry& g, float* memory) noexcept {
  const auto padded = static_cast<std::ptrdiff_t>(g.padded);
  auto* first = reinterpret_cast<std::int32_t*>(memory);
  std::int32_t* plain = first + padded;
  float* weights = memory + 2 * padded;
  std::fill_n(memory, g.size(), 0.0F);
  std::int32_t most = 1;
  for (std::int32_t i = 0; i < out; ++i) {
    const auto center = static_cast<float>(g.scale * (i + 0.5));
    const std::int32_t low = std::max(static_cast<std::int32_t>((center - g.support) + 0.5), 0);
    const std::int32_t high = std::min(static_cast<std::int32_t>((center + g.support) + 0.5), in);
    const std::int32_t count = std::clamp(high - low, 1, g.taps);
    float sum = 0.0F;
    for (std::int32_t t = 0; t < count; ++t) {
      const auto x = static_cast<float>(((static_cast<float>(low + t) - center) + 0.5) * g.inverse);
      const float weight = std::max(1.0F - std::abs(x), 0.0F);
      weights[t * padded + i] = weight;
      sum += weight;
    }
    for (std::int32_t t = 0; t < count && sum != 0.0F; ++t) weights[t * padded + i] /= sum;
    first[i] = low;
    most = std::max(most, count);
    plain[i] = 1 + (count - 1) / 4 * 4;
  }
  return {in, out, g.padded, most, first, plain, weights};
}

}  // namespace

Status FloatResizer::resize(ImageView out, ConstImageView in) {
  const FloatGeometry across(in.width, out.width);
  const FloatGeometry down(in.height, out.height);
  const auto row_size = static_cast<std::size_t>(in.width) + static_cast<std::size_t>(across.taps);
  const std::size_t between_size = static_cast<std::size_t>(across.padded) * static_cast<std::size_t>(in.height);
  DRAPPS_RETURN_IF_ERROR(buffer_.ensure((across.size() + down.size() + between_size + row_size) * sizeof(float)));
  auto* memory = reinterpret_cast<float*>(buffer_.data());
  const FloatAxis horizontal = make_axis(in.width, out.width, across, memory);
  const FloatAxis vertical = make_axis(in.height, out.height, down, memory += across.size());
  float* between = memory += down.size();
  float* row = memory += between_size;
  std::fill_n(row + in.width, across.taps, 0.0F);
  const FloatKernels& kernels = level_ == Level::kPortable ? kFloatPortable : kFloatAvx2;
  for (std::int32_t c = 0; c < in.channels; ++c) {
    for (std::int32_t y = 0; y < in.height; ++y) {
      std::copy_n(in.row(c, y), in.width, row);
      kernels.horizontal(between + static_cast<std::ptrdiff_t>(y) * across.padded, row, horizontal);
    }
    for (std::int32_t y = 0; y < out.height; ++y) {
      kernels.vertical(out.row(c, y), between, across.padded, out.width, vertical, y);
    }
  }
  return ok_status();
}

}  // namespace drapps::kernel
