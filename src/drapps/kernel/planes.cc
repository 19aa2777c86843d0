#include "drapps/kernel/planes.h"

#include <algorithm>
#include <cstring>

#include "drapps/kernel/planes_kernels.h"

namespace drapps::kernel {
namespace {

const PlaneKernels& plane_kernels(Level level) noexcept {
  switch (level) {
    case Level::kAvx512Vbmi: return kPlanesAvx512Vbmi;
    case Level::kAvx512:
    case Level::kAvx2: return kPlanesAvx2;
    case Level::kPortable: break;
  }
  return kPlanesPortable;
}

/// Pixel of the picture, 0 … size - 1, that stands at `position`, which may be outside it.
std::int32_t source_of(std::int32_t position, std::int32_t size, PadMode mode) noexcept {
  if (mode == PadMode::kEdge) return std::clamp(position, 0, size - 1);
  if (mode == PadMode::kReflect && size == 1) return 0;
  const std::int32_t period = mode == PadMode::kReflect ? 2 * (size - 1) : 2 * size;
  const std::int32_t phase = (position % period + period) % period;
  if (phase < size) return phase;
  return mode == PadMode::kReflect ? period - phase : period - 1 - phase;
}

void pad_with_constant(ImageView out, ConstImageView in, std::int32_t top, std::int32_t left,
                       std::span<const std::uint8_t> value) noexcept {
  const auto before = static_cast<std::size_t>(left);
  const auto within = static_cast<std::size_t>(in.width);
  const auto after = static_cast<std::size_t>(out.width - left - in.width);
  for (std::int32_t c = 0; c < out.channels; ++c) {
    const int byte = value[static_cast<std::size_t>(c)];
    for (std::int32_t y = 0; y < out.height; ++y) {
      std::uint8_t* row = out.row(c, y);
      if (y < top || y >= top + in.height) {
        std::memset(row, byte, static_cast<std::size_t>(out.width));
        continue;
      }
      std::memset(row, byte, before);
      std::memcpy(row + before, in.row(c, y - top), within);
      std::memset(row + before + within, byte, after);
    }
  }
}

}  // namespace

void deinterleave3(std::uint8_t* out0, std::uint8_t* out1, std::uint8_t* out2, const std::uint8_t* in, std::size_t n,
                   Level level) noexcept {
  std::uint8_t* const out[]{out0, out1, out2};
  plane_kernels(level).deinterleave3(out, in, n);
}

void deinterleave4(std::uint8_t* out0, std::uint8_t* out1, std::uint8_t* out2, std::uint8_t* out3,
                   const std::uint8_t* in, std::size_t n, Level level) noexcept {
  std::uint8_t* const out[]{out0, out1, out2, out3};
  plane_kernels(level).deinterleave4(out, in, n);
}

void interleave3(std::uint8_t* out, const std::uint8_t* in0, const std::uint8_t* in1, const std::uint8_t* in2,
                 std::size_t n, Level level) noexcept {
  const std::uint8_t* const in[]{in0, in1, in2};
  plane_kernels(level).interleave3(out, in, n);
}

void interleave4(std::uint8_t* out, const std::uint8_t* in0, const std::uint8_t* in1, const std::uint8_t* in2,
                 const std::uint8_t* in3, std::size_t n, Level level) noexcept {
  const std::uint8_t* const in[]{in0, in1, in2, in3};
  plane_kernels(level).interleave4(out, in, n);
}

void reverse(std::uint8_t* out, const std::uint8_t* in, std::size_t n, Level level) noexcept {
  plane_kernels(level).reverse(out, in, n);
}

void lookup(std::uint8_t* out, const std::uint8_t* in, std::size_t n, std::span<const std::uint8_t, 256> table,
            Level level) noexcept {
  plane_kernels(level).lookup(out, in, n, table.data());
}

void copy(ImageView out, ConstImageView in) noexcept {
  for (std::int32_t c = 0; c < in.channels; ++c) {
    for (std::int32_t y = 0; y < in.height; ++y) {
      std::memcpy(out.row(c, y), in.row(c, y), static_cast<std::size_t>(in.width));
    }
  }
}

void flip_horizontal(ImageView out, ConstImageView in, Level level) noexcept {
  for (std::int32_t c = 0; c < in.channels; ++c) {
    for (std::int32_t y = 0; y < in.height; ++y) {
      reverse(out.row(c, y), in.row(c, y), static_cast<std::size_t>(in.width), level);
    }
  }
}

void flip_vertical(ImageView out, ConstImageView in) noexcept {
  for (std::int32_t c = 0; c < in.channels; ++c) {
    for (std::int32_t y = 0; y < in.height; ++y) {
      std::memcpy(out.row(c, in.height - 1 - y), in.row(c, y), static_cast<std::size_t>(in.width));
    }
  }
}

void transpose(ImageView out, ConstImageView in) noexcept {
  // By squares, so that neither side misses the cache at every step.
  constexpr std::int32_t kSquare = 32;
  for (std::int32_t c = 0; c < in.channels; ++c) {
    for (std::int32_t y0 = 0; y0 < in.height; y0 += kSquare) {
      for (std::int32_t x0 = 0; x0 < in.width; x0 += kSquare) {
        const std::int32_t y1 = std::min(y0 + kSquare, in.height);
        const std::int32_t x1 = std::min(x0 + kSquare, in.width);
        for (std::int32_t x = x0; x < x1; ++x) {
          for (std::int32_t y = y0; y < y1; ++y) out.row(c, x)[y] = in.row(c, y)[x];
        }
      }
    }
  }
}

void fill(ImageView out, std::span<const std::uint8_t> value) noexcept {
  for (std::int32_t c = 0; c < out.channels; ++c) {
    for (std::int32_t y = 0; y < out.height; ++y) {
      std::memset(out.row(c, y), value[static_cast<std::size_t>(c)], static_cast<std::size_t>(out.width));
    }
  }
}

void pad(ImageView out, ConstImageView in, std::int32_t top, std::int32_t left, PadMode mode,
         std::span<const std::uint8_t> value) noexcept {
  if (mode == PadMode::kConstant) return pad_with_constant(out, in, top, left, value);
  for (std::int32_t c = 0; c < out.channels; ++c) {
    for (std::int32_t y = 0; y < out.height; ++y) {
      const std::uint8_t* source = in.row(c, source_of(y - top, in.height, mode));
      std::uint8_t* target = out.row(c, y);
      for (std::int32_t x = 0; x < left; ++x) target[x] = source[source_of(x - left, in.width, mode)];
      std::memcpy(target + left, source, static_cast<std::size_t>(in.width));
      for (std::int32_t x = left + in.width; x < out.width; ++x) {
        target[x] = source[source_of(x - left, in.width, mode)];
      }
    }
  }
}

}  // namespace drapps::kernel
