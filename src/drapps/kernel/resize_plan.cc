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

/// PyTorch's bicubic filter without antialiasing.
struct SharpBicubic {
  static constexpr double kA = -0.75;
  static double at(double x) noexcept {
    x = std::abs(x);
    const double inner = ((kA + 2.0) * x - (kA + 3.0)) * x * x + 1;
    const double outer = ((kA * x - 5 * kA) * x + 8 * kA) * x - 4 * kA;
    return x < 1.0 ? inner : x < 2.0 ? outer : 0.0;
  }
};

struct AxisGeometry {
  double scale;       // source pixels per output pixel
  double stretch;     // of the filter
  double support;     // half its width, in source pixels
  std::int32_t taps;  // at most
};

template <class Kernel>
AxisGeometry geometry(const Span& span, std::int32_t out) noexcept {
  const double scale = static_cast<double>(span.end - span.begin) / out;
  const double stretch = std::max(scale, 1.0);
  const double support = Kernel::kSupport * stretch;
  // The difference of two floors is at most the ceiling of the width; the millionth covers their roundings.
  return {scale, stretch, support, static_cast<std::int32_t>(std::ceil(2 * support + 1e-6))};
}

AxisGeometry geometry(const Span& span, std::int32_t out, Filter filter) noexcept {
  return filter == Filter::kBilinear ? geometry<Bilinear>(span, out) : geometry<Bicubic>(span, out);
}

/// The taps of an output: the source pixels [low, high).
struct Taps {
  std::int32_t low, high;
};

Taps taps_at(double center, double support, std::int32_t whole) noexcept {
  return {std::max(static_cast<std::int32_t>(center - support + 0.5), 0),
          std::min(static_cast<std::int32_t>(center + support + 0.5), whole)};
}

/// Eight outputs side by side in every inner loop, for the compiler to make vectors of: a plan costs as much as a
/// tenth of its resize. Taps past an output's count are zeros, which change no sum.
constexpr std::int32_t kSide = 8;

/// What a plan is made in; `axis`, `first`, `count` and `weights` are the plan itself.
struct Draft {
  Span span;
  Axis axis;
  std::int32_t* first;
  std::int32_t* count;
  std::int32_t* weights;
  double* raw;  // weights of one block of outputs, or of all: [tap][kSide] each

  /// A block's place, where all are kept.
  double* block(std::int32_t i0) const noexcept { return raw + static_cast<std::ptrdiff_t>(i0) * axis.stride; }
};

/// One number per output of a block.
using Side = double[kSide];

/// Steps 1 and 2 for the outputs from i0 on, up to the division of the weights, in `block`, by `divisor`. In line, and
/// with the geometry by value: it is read again after every store to `block` where it might lie there.
template <class Kernel>
[[gnu::always_inline]] inline void weigh(AxisGeometry g, const Draft& draft, std::int32_t i0, double* block,
                                         Side& divisor) noexcept {
  const Axis& axis = draft.axis;
  const Span span = draft.span;
  const double inverse = 1.0 / g.stretch;
  const std::int32_t outputs = std::min(kSide, axis.out - i0);
  Side center, begin, taps, sum;
  for (std::int32_t k = 0; k < kSide; ++k) {
    center[k] = span.begin + (i0 + k + 0.5) * g.scale;
    const auto [low, high] = taps_at(center[k], g.support, span.whole);
    begin[k] = low;
    taps[k] = high - low;
    sum[k] = 0.0;
    if (k < outputs) {
      draft.first[i0 + k] = low - span.first;
      draft.count[i0 + k] = high - low;
    }
  }
  for (std::int32_t t = 0; t < axis.stride; ++t) {
    const double tap = t;
    for (std::int32_t k = 0; k < kSide; ++k) {
      const double w = Kernel::at((tap + begin[k] - center[k] + 0.5) * inverse);
      block[t * kSide + k] = tap < taps[k] ? w : 0.0;
      sum[k] += block[t * kSide + k];
    }
  }
  for (std::int32_t k = 0; k < kSide; ++k) divisor[k] = sum[k] != 0.0 ? sum[k] : 1.0;
}

/// The division of the weights, and step 3 of resize_plan.h, for the outputs from i0 on: rounded to `bits` of fraction,
/// kept with kWeightBits.
[[gnu::always_inline]] inline void quantise(const Draft& draft, std::int32_t i0, const double* block,
                                            const Side& divisor, int bits) noexcept {
  const std::int32_t outputs = std::min(kSide, draft.axis.out - i0);
  const double one = 1 << bits;
  const int shift = kWeightBits - bits;
  std::int32_t* weights = draft.weights + static_cast<std::ptrdiff_t>(i0) * draft.axis.stride;
  for (std::int32_t t = 0; t < draft.axis.stride; ++t) {
    std::int32_t rounded[kSide];
    for (std::int32_t k = 0; k < kSide; ++k) {
      const double w = block[t * kSide + k] / divisor[k];
      rounded[k] = static_cast<std::int32_t>((w < 0 ? -0.5 : 0.5) + w * one) << shift;
    }
    for (std::int32_t k = 0; k < outputs; ++k) {
      weights[static_cast<std::ptrdiff_t>(k) * draft.axis.stride + t] = rounded[k];
    }
  }
}

template <class Kernel>
void fill_pillow(AxisGeometry g, const Draft& draft) noexcept {
  for (std::int32_t i0 = 0; i0 < draft.axis.out; i0 += kSide) {
    Side divisor;
    weigh<Kernel>(g, draft, i0, draft.raw, divisor);
    quantise(draft, i0, draft.raw, divisor, kWeightBits);
  }
}

/// The fraction bits of the weights, p in step 3' of resize_plan.h.
int torch_bits(double largest) noexcept {
  constexpr std::int32_t kTooLarge = 1 << 15;
  int bits = 0;
  while (bits < kWeightBits && static_cast<std::int32_t>(0.5 + largest * (2 << bits)) < kTooLarge) ++bits;
  return bits;
}

void quantise_torch(Draft& draft, double largest) noexcept {
  constexpr Side kDivided{1, 1, 1, 1, 1, 1, 1, 1};
  const int bits = torch_bits(largest);
  if (largest * (1 << bits) + 0.5 <= kNarrow) draft.axis.bits = bits;
  for (std::int32_t i0 = 0; i0 < draft.axis.out; i0 += kSide) quantise(draft, i0, draft.block(i0), kDivided, bits);
}

template <class Kernel>
void fill_torch(AxisGeometry g, Draft& draft) noexcept {
  double largest = 0.0;
  for (std::int32_t i0 = 0; i0 < draft.axis.out; i0 += kSide) {
    double* block = draft.block(i0);
    Side divisor;
    weigh<Kernel>(g, draft, i0, block, divisor);
    const std::int32_t outputs = std::min(kSide, draft.axis.out - i0);
    for (std::int32_t t = 0; t < draft.axis.stride; ++t, block += kSide) {
      for (std::int32_t k = 0; k < kSide; ++k) block[k] /= divisor[k];
      largest = std::max(largest, *std::max_element(block, block + outputs));
    }
  }
  quantise_torch(draft, largest);
}

/// PyTorch's _compute_indices_min_size_weights: the largest weight counts as it grows, and the position is a float
/// where it is cut to an index.
template <class Kernel, std::int32_t kTaps>
void fill_torch_no_antialias(Draft& draft) noexcept {
  constexpr std::int32_t kHalf = kTaps / 2;
  const Axis& axis = draft.axis;
  const double scale = static_cast<double>(axis.in) / axis.out;
  double largest = 0.0;
  // The last block is quantised whole, with what stands beside its outputs.
  std::fill_n(draft.block((axis.out - 1) / kSide * kSide), axis.stride * kSide, 0.0);
  for (std::int32_t i = 0; i < axis.out; ++i) {
    double position = scale * (i + 0.5) - 0.5;
    if (kTaps == 2) position = std::max(position, 0.0);
    const std::int32_t index =
        std::min(static_cast<std::int32_t>(std::floor(static_cast<float>(position))), axis.in - 1);
    const double beyond = std::clamp(position - index, 0.0, 1.0);
    const std::int32_t low = index - kHalf + 1;
    draft.first[i] = std::max(low, 0);
    draft.count[i] = std::min(low + kTaps, axis.in) - draft.first[i];
    double* weights = draft.block(i / kSide * kSide) + i % kSide;
    for (std::int32_t t = 0; t < axis.stride; ++t) weights[t * kSide] = 0.0;
    std::int32_t slot = 0;
    for (std::int32_t j = 0; j < kTaps; ++j, ++slot) {
      if (low + j <= 0) {
        slot = 0;
      } else if (low + j >= axis.in - 1) {
        slot = draft.count[i] - 1;
      }
      weights[slot * kSide] += Kernel::at(j + 1 - kHalf - beyond);
      largest = std::max(largest, weights[slot * kSide]);
    }
  }
  quantise_torch(draft, largest);
}

void fill(AxisGeometry g, Draft& draft, Filter filter, Arithmetic arithmetic) noexcept {
  const bool linear = filter == Filter::kBilinear;
  switch (arithmetic) {
    case Arithmetic::kPillow: return linear ? fill_pillow<Bilinear>(g, draft) : fill_pillow<Bicubic>(g, draft);
    case Arithmetic::kTorch: return linear ? fill_torch<Bilinear>(g, draft) : fill_torch<Bicubic>(g, draft);
    case Arithmetic::kTorchNoAntialias:
      return linear ? fill_torch_no_antialias<Bilinear, 2>(draft) : fill_torch_no_antialias<SharpBicubic, 4>(draft);
    case Arithmetic::kTorchFloat: break;  // has plans of its own
  }
}

/// The most source pixels that one output needs.
std::int32_t most_taps(const AxisGeometry& g, std::int32_t in, Filter filter, Arithmetic arithmetic) noexcept {
  if (arithmetic == Arithmetic::kTorchNoAntialias) return filter == Filter::kBilinear ? 2 : 4;
  return std::min(g.taps, in);  // a filter wider than the picture is clipped at both edges
}

}  // namespace

Span read_by(Span span, std::int32_t out, Filter filter) noexcept {
  const AxisGeometry g = geometry(span, out, filter);
  const double first = span.begin + 0.5 * g.scale, last = span.begin + (out - 1 + 0.5) * g.scale;
  span.first = taps_at(first, g.support, span.whole).low;
  span.pixels = taps_at(last, g.support, span.whole).high - span.first;
  return span;
}

Status PackedAxis::make(const Span& span, std::int32_t out, Filter filter, Arithmetic arithmetic, ResizePass pass,
                        Level level) {
  if (span_ == span && axis_.out == out && filter_ == filter && arithmetic_ == arithmetic && pass_ == pass &&
      level_ == level) {
    return ok_status();
  }
  axis_ = Axis{};
  const AxisGeometry g = geometry(span, out, filter);
  const std::int32_t stride = (most_taps(g, span.whole, filter, arithmetic) + 3) / 4 * 4;
  const auto outputs = static_cast<std::size_t>(out);
  const auto per_output = static_cast<std::size_t>(stride);
  // PyTorch's bits depend on all weights, so these are kept until the last is known.
  const std::size_t blocks = arithmetic == Arithmetic::kPillow ? 1 : (outputs + kSide - 1) / kSide;
  // Doubles go in front: they are the most strictly aligned.
  const std::size_t raw_size = blocks * per_output * kSide * sizeof(double);
  const std::size_t weights_size = outputs * per_output * sizeof(std::int32_t);
  const std::size_t bounds_size = outputs * sizeof(std::int32_t);
  DRAPPS_RETURN_IF_ERROR(plain_.ensure(raw_size + weights_size + 2 * bounds_size));
  auto* raw = reinterpret_cast<double*>(plain_.data());
  auto* weights = reinterpret_cast<std::int32_t*>(plain_.data() + raw_size);
  auto* first = weights + outputs * per_output;
  auto* count = first + outputs;
  Draft draft{span, {span.pixels, out, stride, first, count, weights}, first, count, weights, raw};
  fill(g, draft, filter, arithmetic);
  const ResizeKernels& kernels = resize_kernels(level);
  DRAPPS_RETURN_IF_ERROR(packed_.ensure(kernels.packed_size(draft.axis, pass)));
  kernels.pack(packed_.data(), draft.axis, pass);
  axis_ = draft.axis;
  span_ = span;
  filter_ = filter;
  arithmetic_ = arithmetic;
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
