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
    return x < 1.0 ? 1.0 - x : 0.0;
  }
};

struct Bicubic {
  static constexpr double kSupport = 2.0;
  static constexpr double kA = -0.5;
  static double at(double x) noexcept {
    x = std::abs(x);
    if (x < 1.0) return ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * kA;
    return 0.0;
  }
};

struct Geometry {
  double scale;    // source pixels per output pixel
  double stretch;  // of the filter
  double support;  // half its width, in source pixels
  std::int32_t taps;
};

template <class Kernel>
Geometry geometry(std::int32_t in, std::int32_t out) noexcept {
  const double scale = static_cast<double>(in) / out;
  const double stretch = std::max(scale, 1.0);
  const double support = Kernel::kSupport * stretch;
  return {scale, stretch, support, static_cast<std::int32_t>(std::ceil(support)) * 2 + 1};
}

std::int32_t quantised(double weight) noexcept {
  constexpr double kOne = 1 << kWeightBits;
  return static_cast<std::int32_t>((weight < 0 ? -0.5 : 0.5) + weight * kOne);
}

template <class Kernel>
void fill(const Geometry& g, const Axis& axis, std::int32_t* first, std::int32_t* count, std::int32_t* weights,
          double* raw) noexcept {
  const double inverse = 1.0 / g.stretch;
  for (std::int32_t i = 0; i < axis.out; ++i) {
    const double center = (i + 0.5) * g.scale;
    const std::int32_t begin = std::max(static_cast<std::int32_t>(center - g.support + 0.5), 0);
    const std::int32_t n = std::min(static_cast<std::int32_t>(center + g.support + 0.5), axis.in) - begin;
    double sum = 0.0;
    for (std::int32_t t = 0; t < n; ++t) {
      raw[t] = Kernel::at((t + begin - center + 0.5) * inverse);
      sum += raw[t];
    }
    std::int32_t* w = weights + static_cast<std::ptrdiff_t>(i) * axis.stride;
    for (std::int32_t t = 0; t < n; ++t) w[t] = quantised(sum != 0.0 ? raw[t] / sum : raw[t]);
    std::fill(w + n, w + axis.stride, 0);
    first[i] = begin;
    count[i] = n;
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
  const std::size_t raw_size = per_output * sizeof(double);
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
