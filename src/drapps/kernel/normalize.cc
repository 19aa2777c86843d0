#include "drapps/kernel/normalize.h"

#include <emmintrin.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <string>

#include "drapps/base/half.h"
#include "drapps/kernel/normalize_kernels.h"
#include "drapps/kernel/planes.h"

namespace drapps::kernel {
namespace {

/// Pixels converted at a time where they pass through a buffer: few enough for the first-level cache.
constexpr std::size_t kTilePixels = 512;

/// Rows from this size on are written past the caches; of smaller ones a whole batch may still lie in them when it is
/// used.
constexpr std::size_t kStreamedBytes = std::size_t{32} << 10;

float computed(const ChannelTable::ChannelArithmetic& a, float x) noexcept {
  const float scaled = std::fma(x, a.scale_high, x * a.scale_low);
  const float centred = scaled - a.mean;
  return std::fma(centred, a.inverse_high, centred * a.inverse_low);
}

/// 1 / x as a sum of two floats.
void split_inverse(float x, float& high, float& low) noexcept {
  const double inverse = 1.0 / static_cast<double>(x);
  high = static_cast<float>(inverse);
  low = static_cast<float>(inverse - static_cast<double>(high));
}

/// What a byte is multiplied or divided by.
struct ByteScale {
  float by;
  Scaling how;
  float operator()(float x) const noexcept { return how == Scaling::kDivide ? x / by : x * by; }
};

constexpr ByteScale kUnscaled{1.0F, Scaling::kDivide};

ByteScale scale_of(Scaling scaling) noexcept {
  return scaling == Scaling::kDivide ? ByteScale{255.0F, scaling} : ByteScale{static_cast<float>(1.0 / 255.0), scaling};
}

void set_half(HalfTable& table, std::size_t x, std::uint16_t half) noexcept {
  table.value[x] = half;
  for (std::size_t k = 0; k < 2; ++k) table.bytes[k][x] = static_cast<std::uint8_t>(half >> (8 * k));
}

void set_value(ChannelTable& table, std::size_t x, float value) noexcept {
  table.value[x] = value;
  set_half(table.bfloat16, x, drapps::to_bfloat16(value));
  set_half(table.float16, x, drapps::to_float16(value));
  const auto bits = std::bit_cast<std::uint32_t>(value);
  for (std::size_t k = 0; k < 4; ++k) table.bytes[k][x] = static_cast<std::uint8_t>(bits >> (8 * k));
}

void fill_table(ChannelTable& table, ByteScale scale, float mean, float std) noexcept {
  ChannelTable::ChannelArithmetic& a = table.arithmetic;
  if (scale.how == Scaling::kDivide) {
    split_inverse(scale.by, a.scale_high, a.scale_low);
  } else {
    a.scale_high = scale.by;
    a.scale_low = 0;
  }
  split_inverse(std, a.inverse_high, a.inverse_low);
  a.mean = mean;
  a.exact = true;
  for (std::size_t x = 0; x < 256; ++x) {
    const float value = (scale(static_cast<float>(x)) - mean) / std;
    set_value(table, x, value);
    const float fast = computed(a, static_cast<float>(x));
    a.exact = a.exact && std::bit_cast<std::uint32_t>(fast) == std::bit_cast<std::uint32_t>(value);
  }
}

/// The columns [x0, x0 + n) of an output row, mirrored into `scratch` where asked.
const std::uint8_t* columns(const std::uint8_t* row, std::size_t width, std::size_t x0, std::size_t n, bool mirror,
                            std::uint8_t* scratch, Level level) noexcept {
  if (!mirror) return row + x0;
  reverse(scratch, row + (width - x0 - n), n, level);
  return scratch;
}

template <class T>
void interleave_any(T* out, const T* in, std::size_t stride, std::size_t n, std::size_t channels) noexcept {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < channels; ++c) out[channels * i + c] = in[c * stride + i];
  }
}

/// One dtype: how bytes become elements and how elements of several planes join.
struct Float32 {
  using Element = float;
  static void convert(float* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table,
                      const NormalizeKernels& kernels, bool stream) noexcept {
    kernels.to_float32(out, in, n, table, stream);
  }
  static void interleave3(float* out, const float* in, std::size_t n, const NormalizeKernels& kernels) noexcept {
    kernels.interleave3x32(reinterpret_cast<std::uint32_t*>(out), reinterpret_cast<const std::uint32_t*>(in),
                           kTilePixels, n, true);
  }
};

/// A dtype of 16 bits, made by the member kTo of the kernels.
template <auto kTo>
struct Half {
  using Element = std::uint16_t;
  static void convert(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table,
                      const NormalizeKernels& kernels, bool stream) noexcept {
    (kernels.*kTo)(out, in, n, table, stream);
  }
  static void interleave3(std::uint16_t* out, const std::uint16_t* in, std::size_t n,
                          const NormalizeKernels& kernels) noexcept {
    kernels.interleave3x16(out, in, kTilePixels, n, true);
  }
};

using Bfloat16 = Half<&NormalizeKernels::to_bfloat16>;
using Float16 = Half<&NormalizeKernels::to_float16>;

template <class Integer>
struct Widened {
  using Element = Integer;
  static void convert(Integer* out, const std::uint8_t* in, std::size_t n, const ChannelTable& /*table*/,
                      const NormalizeKernels& /*kernels*/, bool /*stream*/) noexcept {
    std::copy_n(in, n, out);
  }
  static void interleave3(Integer* out, const Integer* in, std::size_t n,
                          const NormalizeKernels& /*kernels*/) noexcept {
    interleave_any(out, in, kTilePixels, n, 3);
  }
};

template <class Format>
void store_as(typename Format::Element* out, ConstImageView in, Layout layout, bool mirror,
              std::span<const ChannelTable> tables, Level level) noexcept {
  using Element = typename Format::Element;
  const NormalizeKernels& kernels = normalize_kernels(level);
  const auto width = static_cast<std::size_t>(in.width);
  const auto height = static_cast<std::size_t>(in.height);
  const auto channels = static_cast<std::size_t>(in.channels);
  const bool stream = width * height * channels * sizeof(Element) >= kStreamedBytes;
  alignas(64) std::uint8_t turned[kTilePixels + kPadding];

  if (layout == Layout::kNchw || channels == 1) {
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t y = 0; y < height; ++y) {
        const std::uint8_t* row = in.row(static_cast<std::int32_t>(c), static_cast<std::int32_t>(y));
        Element* target = out + (c * height + y) * width;
        const std::size_t tile = mirror ? kTilePixels : width;
        for (std::size_t x = 0; x < width; x += tile) {
          const std::size_t n = std::min(tile, width - x);
          Format::convert(target + x, columns(row, width, x, n, mirror, turned, level), n, tables[c], kernels, stream);
        }
      }
    }
    return;
  }
  alignas(64) Element planes[kTilePixels * Normalizer::kMaxChannels];
  for (std::size_t y = 0; y < height; ++y) {
    Element* target = out + y * width * channels;
    for (std::size_t x = 0; x < width; x += kTilePixels) {
      const std::size_t n = std::min(kTilePixels, width - x);
      for (std::size_t c = 0; c < channels; ++c) {
        const std::uint8_t* row = in.row(static_cast<std::int32_t>(c), static_cast<std::int32_t>(y));
        Format::convert(planes + c * kTilePixels, columns(row, width, x, n, mirror, turned, level), n, tables[c],
                        kernels, false);
      }
      if (channels == 3) {
        Format::interleave3(target + x * 3, planes, n, kernels);
      } else {
        interleave_any(target + x * channels, planes, kTilePixels, n, channels);
      }
    }
  }
}

void store_bytes(std::uint8_t* out, ConstImageView in, Layout layout, bool mirror, Level level) noexcept {
  const auto width = static_cast<std::size_t>(in.width);
  if (layout == Layout::kNchw || in.channels == 1) {
    const ImageView target{out, in.channels, in.height, in.width, in.width, std::ptrdiff_t{in.width} * in.height};
    if (mirror) {
      flip_horizontal(target, in, level);
    } else {
      copy(target, in);
    }
    return;
  }
  const auto channels = static_cast<std::size_t>(in.channels);
  alignas(64) std::uint8_t turned[Normalizer::kMaxChannels][kTilePixels + kPadding];
  for (std::int32_t y = 0; y < in.height; ++y) {
    std::uint8_t* target = out + static_cast<std::size_t>(y) * width * channels;
    for (std::size_t x = 0; x < width; x += kTilePixels) {
      const std::size_t n = std::min(kTilePixels, width - x);
      const std::uint8_t* planes[Normalizer::kMaxChannels]{};
      for (std::size_t c = 0; c < channels; ++c) {
        planes[c] = columns(in.row(static_cast<std::int32_t>(c), y), width, x, n, mirror, turned[c], level);
      }
      std::uint8_t* pixels = target + x * channels;
      if (channels == 3) {
        interleave3(pixels, planes[0], planes[1], planes[2], n, level);
      } else if (channels == 4) {
        interleave4(pixels, planes[0], planes[1], planes[2], planes[3], n, level);
      } else {
        for (std::size_t i = 0; i < n; ++i) {
          for (std::size_t c = 0; c < channels; ++c) pixels[channels * i + c] = planes[c][i];
        }
      }
    }
  }
}

}  // namespace

const NormalizeKernels& normalize_kernels(Level level) noexcept {
  switch (level) {
    case Level::kAvx512Vbmi: return kNormalizeAvx512Vbmi;
    case Level::kAvx512: return kNormalizeAvx512;
    case Level::kAvx2: return kNormalizeAvx2;
    case Level::kPortable: break;
  }
  return kNormalizePortable;
}

Result<Normalizer> Normalizer::standard(std::span<const float> mean, std::span<const float> std, Scaling scaling) {
  if (mean.size() != std.size() || mean.empty() || mean.size() > kMaxChannels) {
    return invalid("mean has " + std::to_string(mean.size()) + " values and std " + std::to_string(std.size()) +
                       "; give one of each per channel, for 1 to 4 channels",
                   Stage::kBatch);
  }
  Normalizer result(static_cast<std::int32_t>(mean.size()), false);
  for (std::size_t c = 0; c < mean.size(); ++c) {
    if (!std::isfinite(mean[c]) || !std::isfinite(std[c]) || std[c] == 0.0F) {
      return invalid("mean " + std::to_string(mean[c]) + " and std " + std::to_string(std[c]) + " of channel " +
                         std::to_string(c) + " must be finite, and the std not zero",
                     Stage::kBatch);
    }
    fill_table(result.tables_[c], scale_of(scaling), mean[c], std[c]);
  }
  return result;
}

Result<Normalizer> Normalizer::from_table(std::span<const float> values) {
  constexpr std::size_t kValues = 256;
  const std::size_t channels = values.size() / kValues;
  if (values.size() % kValues != 0 || channels < 1 || channels > kMaxChannels) {
    return invalid(
        "the table has " + std::to_string(values.size()) + " numbers; give 256, or 256 for each of up to 4 channels",
        Stage::kBatch);
  }
  if (!std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); })) {
    return invalid("the table has numbers that are not finite", Stage::kBatch);
  }
  Normalizer result(channels == 1 ? 0 : static_cast<std::int32_t>(channels), false);
  for (std::size_t c = 0; c < kMaxChannels; ++c) {
    const std::size_t from = std::min(c, channels - 1) * kValues;
    for (std::size_t x = 0; x < kValues; ++x) set_value(result.tables_[c], x, values[from + x]);
  }
  return result;
}

Normalizer Normalizer::unit(Scaling scaling) {
  Normalizer result(0, false);
  for (ChannelTable& table : result.tables_) fill_table(table, scale_of(scaling), 0.0F, 1.0F);
  return result;
}

Normalizer Normalizer::raw() {
  Normalizer result(0, true);
  for (ChannelTable& table : result.tables_) fill_table(table, kUnscaled, 0.0F, 1.0F);
  return result;
}

Status Normalizer::check(std::int32_t channels, RowFormat format) const {
  if (channels < 1 || channels > kMaxChannels) {
    return invalid(std::to_string(channels) + " channels cannot be stored; pictures have 1 to 4", Stage::kBatch);
  }
  if (channels_ != 0 && channels != channels_) {
    return invalid("the picture has " + std::to_string(channels) + " channels and the normalisation " +
                       std::to_string(channels_) + "; give one mean and std per channel",
                   Stage::kBatch);
  }
  if (!holds_pictures(format.dtype)) {
    return invalid("pictures are not " + std::string(name_of(format.dtype)) +
                       "; ask for float32, bfloat16, float16, uint8, int32 or int64",
                   Stage::kBatch);
  }
  if (!is_float(format.dtype) && !raw_) {
    return invalid("normalised pictures are not " + std::string(name_of(format.dtype)) +
                       "; ask for float32, bfloat16 or float16, or do not normalise",
                   Stage::kBatch);
  }
  return ok_status();
}

void Normalizer::store(void* out, ConstImageView in, RowFormat format, bool mirror, Level level) const noexcept {
  switch (format.dtype) {
    case Dtype::kUint8: store_bytes(static_cast<std::uint8_t*>(out), in, format.layout, mirror, level); break;
    case Dtype::kInt32:
      store_as<Widened<std::int32_t>>(static_cast<std::int32_t*>(out), in, format.layout, mirror, tables_, level);
      break;
    case Dtype::kInt64:
      store_as<Widened<std::int64_t>>(static_cast<std::int64_t*>(out), in, format.layout, mirror, tables_, level);
      break;
    case Dtype::kFloat32: store_as<Float32>(static_cast<float*>(out), in, format.layout, mirror, tables_, level); break;
    case Dtype::kBfloat16:
      store_as<Bfloat16>(static_cast<std::uint16_t*>(out), in, format.layout, mirror, tables_, level);
      break;
    case Dtype::kFloat16:
      store_as<Float16>(static_cast<std::uint16_t*>(out), in, format.layout, mirror, tables_, level);
      break;
    default: break;  // check() takes no other
  }
  _mm_sfence();  // orders the stores that went past the caches before whatever announces the row
}

}  // namespace drapps::kernel
