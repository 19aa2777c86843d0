#include "drapps/kernel/resize_plan.h"

#include <algorithm>
#include <cmath>

#include "drapps/kernel/resize_kernels.h"

namespace drapps::kernel {
namespace {

struct Bilinear {
  static constexpr double kSupport = 1.0;
  static double at(double x) noexcept {
    x = std::abs(x);
    return std::max(1.0 - x, 0.0);
  }
};

struct Bicubic {
  static constexpr double kSupport = 2.0;
  static constexpr double kA = -0.5;
  static double at(double x) noexcept {
    x = std::abs(x);
    const double inner = ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
    const double outer = (((x - 5) * x + 8) * x - 4) * kA;
    return x < 1.0 ? inner : x < 2.0 ? outer : 0.0;
  }
};

struct Geometry {
  double scale;       // source pixels per output pixel
  double stretch;     // of the filter
  double support;     // half its width, in source pixels
  std::int32_t taps;  // at most
};

template <class Kernel>
Geometry geometry(std::int32_t in, std::int32_t out) noexcept {
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(scale, 1.0);
  const double support = Kernel::kSupport * stretch;
  // The difference of two floors is at most the ceiling of the width; the millionth covers their roundings.
  return {scale, stretch, support, static_cast<std::int32_t>(std::ceil(2 * support + 1e-6))};
}

std::int32_t quantised(double weight) noexcept {
  constexpr double kOne = 1 << kWeightBits;
  return static_cast<std::int32_t>((weight < 0 ? -0.5 : 0.5) + weight * kOne);
}

/// Eight outputs side by side in every inner loop, for the compiler to make vectors of: a plan costs as much as a
/// tenth of its resize. Taps past an output's count are zeros, which change no sum.
constexpr std::int32_t kSide = 8;

template <class Kernel>
void fill(const Geometry& g, const Axis& axis, std::int32_t* first, std::int32_t* count, std::int32_t* weights,
          double* raw) noexcept {
  const double inverse = 1.0 / g.stretch;
  for (std::int32_t i0 = 0; i0 < axis.out; i0 += kSide) {
    const std::int32_t outputs = std::min(kSide, axis.out - i0);
    double center[kSide], begin[kSide], taps[kSide], sum[kSide], divisor[kSide];
    for (std::int32_t k = 0; k < kSide; ++k) {
      center[k] = (i0 + k + 0.5) * g.scale;
      const std::int32_t low = std::max(static_cast<std::int32_t>(center[k] - g.support + 0.5), 0);
      const std::int32_t high = std::min(static_cast<std::int32_t>(center[k] + g.support + 0.5), axis.in);
      begin[k] = low;
      taps[k] = high - low;
      sum[k] = 0.0;
      if (k < outputs) {
        first[i0 + k] = low;
        count[i0 + k] = high - low;
      }
    }
    for (std::int32_t t = 0; t < axis.stride; ++t) {
      const double tap = t;
      for (std::int32_t k = 0; k < kSide; ++k) {
        const double w = Kernel::at((tap + begin[k] - center[k] + 0.5) * inverse);
        raw[t * kSide + k] = tap < taps[k] ? w : 0.0;
        sum[k] += raw[t * kSide + k];
      }
    }
    for (std::int32_t k = 0; k < kSide; ++k) divisor[k] = sum[k] != 0.0 ? sum[k] : 1.0;
    std::int32_t* block = weights + static_cast<std::ptrdiff_t>(i0) * axis.stride;
    for (std::int32_t t = 0; t < axis.stride; ++t) {
      std::int32_t rounded[kSide];
      for (std::int32_t k = 0; k < kSide; ++k) rounded[k] = quantised(raw[t * kSide + k] / divisor[k]);
      for (std::int32_t k = 0; k < outputs; ++k) block[static_cast<std::ptrdiff_t>(k) * axis.stride + t] = rounded[k];
    }
  }
}

}  // namespace

Status PackedAxis::make(std::int32_t in, std::int32_t out, Filter filter, Pass pass, Level level) {
  if (axis_.in == in && axis_.out == out && filter_ == filter && pass_ == pass && level_ == level) return ok_status();
  axis_ = Axis{};
  const Geometry g = filter == Filter::kBilinear ? geometry<Bilinear>(in, out) : geometry<Bicubic>(in, out);
  // No more taps than pixels: a filter wider than the picture is clipped at both edges.
  const std::int32_t stride = (std::min(g.taps, in) + 3) / 4 * 4;
  const auto outputs = static_cast<std::size_t>(out);
  const auto per_output = static_cast<std::size_t>(stride);
  const std::size_t weights_size = outputs * per_output * sizeof(std::int32_t);
  const std::size_t bounds_size = outputs * sizeof(std::int32_t);
  // Doubles go in front: they are the most strictly aligned.
  const std::size_t raw_size = per_output * kSide * sizeof(double);
  DRAPPS_RETURN_IF_ERROR(plain_.ensure(raw_size + weights_size + 2 * bounds_size));
  auto* raw = reinterpret_cast<double*>(plain_.data());
  auto* weights = reinterpret_cast<std::int32_t*>(plain_.data() + raw_size);
  auto* first = weights + outputs * per_output;
  auto* count = first + outputs;
  Axis axis{in, out, stride, first, count, weights};
  if (filter == Filter::kBilinear) {
    fill<Bilinear>(g, axis, first, count, weights, raw);
  } else {
    fill<Bicubic>(g, axis, first, count, weights, raw);
  }
  const ResizeKernels& kernels = resize_kernels(level);
  DRAPPS_RETURN_IF_ERROR(packed_.ensure(kernels.packed_size(axis, pass)));
  kernels.pack(packed_.data(), axis, pass);
  axis_ = axis;
  filter_ = filter;
  pass_ = pass;
  level_ = level;
  return ok_status();
}

void PackedAxis::reset() noexcept {
  plain_.reset();
  packed_.reset();
  axis_ = Axis{};
}

}  // namespace drapps::kernel
