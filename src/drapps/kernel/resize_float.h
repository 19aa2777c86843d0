// Resizing with float weights and sums: what PyTorch's interpolate(mode="bilinear", antialias=True) makes of a picture
// cast to float32 (aten/src/ATen/native/cpu/UpSampleKernel.cpp), rounded to bytes, halves to even. torchvision's first
// API resizes tensors of bytes so.
//
// 1. Output i covers the source around c = scale * (i + 1/2), scale = in / out, with a triangle stretched by
//    max(scale, 1). Scale, c and the weights are floats, the sums that they come from partly doubles.
// 2. The horizontal pass runs first; between the passes are floats.
// 3. The n products of an output are added in the order of the source. PyTorch's compiler makes four additions at a
//    time of the loop over all but the first: the first 1 + 4 * ((n - 1) / 4) products are rounded before they are
//    added, the others are fused with their addition.
//
// Step 3 is a property of PyTorch's build and not of its source: who relies on it compares bytes first.
#pragma once

#include <cstdint>

#include "drapps/data/buffer.h"
#include "drapps/data/image.h"
#include "drapps/kernel/level.h"

namespace drapps::kernel {

/// One direction of a resize.
struct FloatAxis {
  std::int32_t in = 0;
  std::int32_t out = 0;
  std::int32_t padded = 0;              // out, or more up to a multiple of kFloatSide
  std::int32_t taps = 0;                // source pixels that an output needs, at most
  const std::int32_t* first = nullptr;  // [padded] first source pixel
  const std::int32_t* plain = nullptr;  // [padded] products that are rounded before they are added
  const float* weights = nullptr;       // [taps][padded], zero past what an output needs
};

inline constexpr std::int32_t kFloatSide = 16;  // outputs side by side

/// The passes of one plane, one pair per SIMD level.
struct FloatKernels {
  /// One row of axis.in floats, and axis.taps zeros behind them, becomes one of axis.padded.
  void (*horizontal)(float* out, const float* in, const FloatAxis& axis);
  /// Output y of axis.in rows, `stride` floats apart: `width` bytes.
  void (*vertical)(std::uint8_t* out, const float* in, std::ptrdiff_t stride, std::int32_t width, const FloatAxis& axis,
                   std::int32_t y);
};

extern const FloatKernels kFloatPortable;  // the reference
extern const FloatKernels kFloatAvx2;

/// Resizes pictures one after another, keeping its memory. For one thread at a time.
class FloatResizer {
 public:
  FloatResizer(MemoryLedger& ledger, Level level) noexcept : buffer_(ledger), level_(level) {}

  /// Does the work of Resizer::resize(), which has checked the pictures.
  Status resize(ImageView out, ConstImageView in);
  void reset() noexcept { buffer_.reset(); }

 private:
  Buffer buffer_;
  Level level_;
};

}  // namespace drapps::kernel
