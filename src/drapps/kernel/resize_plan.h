// The weights of one pass of a resize.
//
// 1. Output i covers the source around c = (i + 1/2) * scale, scale = in / out, with the filter stretched
//    by max(scale, 1), so that shrinking averages (antialiasing).
// 2. Its taps are the source pixels from int(c - support + 1/2) to int(c + support + 1/2), clipped at the
//    picture's edges, and its weights are normalised to one in double precision.
// 3. Weights become integers of 22 fraction bits, rounded half away from zero.
//
// This is Pillow's precompute_coeffs and normalize_coeffs_8bpc (src/libImaging/Resample.c), operation by
// operation: the roundings are part of the result.
//
// PyTorch's interpolate() on uint8 tensors (aten/src/ATen/native/cpu/UpSampleKernel.cpp) agrees up to the weights of
// step 2, to the last bit, and differs in
//
// 3'. Weights become int16, of as many fraction bits as the largest weight of the axis leaves room for: the most p
//     <= 22 with round(largest * 2^p) < 2^15. That is about 14 bits for enlarging and 15 to 17 for most shrinking.
//     A sum is rounded and shifted by p. Here such weights are kept times 2^(22 - p), so that the sums, their rounding
//     half included, are those of PyTorch times 2^(22 - p): the same passes with the one shift by 22 give its bytes.
//
// PyTorch has two code paths for this, one for AVX2 (three or four interleaved channels, others unpacked to four) and a
// plain one (more channels, processors without AVX2); both take these weights, run the horizontal pass first, and
// give the same bytes for any memory format. torchvision uses them for bicubic always, for bilinear where PyTorch
// runs with AVX2 or more, or on ARM; elsewhere it resizes floats, which is another arithmetic.
//
// Without antialiasing PyTorch puts two (bilinear) or four (bicubic, a = -0.75 instead of -0.5) taps around the
// source position (i + 1/2) * scale - 1/2, whatever the scale; what would lie outside the picture counts for the pixel
// at its edge. Step 3' follows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/data/buffer.h"
#include "drapps/kernel/level.h"

namespace drapps::kernel {

enum class Filter : std::uint8_t { kBilinear, kBicubic };

/// Whose weights a resize has: see the head of this file; for kTorchFloat, which is bilinear alone, resize_float.h.
enum class Arithmetic : std::uint8_t { kPillow, kTorch, kTorchNoAntialias, kTorchFloat };

inline constexpr int kWeightBits = 22;

/// What of a line of pixels is resized, as Pillow's box says it, and which of its pixels are there to be read.
struct Span {
  float begin = 0;          // within the line
  float end = 0;            // within the line, behind begin
  std::int32_t whole = 0;   // pixels of the line
  std::int32_t first = 0;   // the first pixel that is there
  std::int32_t pixels = 0;  // how many pixels are there

  static constexpr Span all(std::int32_t pixels) noexcept { return {0, static_cast<float>(pixels), pixels, 0, pixels}; }
  bool operator==(const Span&) const = default;
};

/// `span` with the pixels that an axis of Pillow's reads of it.
Span read_by(Span span, std::int32_t out, Filter filter) noexcept;

/// What two signed digits of 8 bits can hold.
inline constexpr std::int32_t kNarrow = 127 * 256 + 127;

/// One direction of a resize. The pointers belong to the PackedAxis that made it.
struct Axis {
  std::int32_t in = 0;
  std::int32_t out = 0;
  std::int32_t stride = 0;                // weights kept per output: a multiple of 4, zero past count
  const std::int32_t* first = nullptr;    // [out] first source pixel
  const std::int32_t* count = nullptr;    // [out] number of source pixels, 1 … stride
  const std::int32_t* weights = nullptr;  // [out][stride]
  // Narrow weights are multiples of 2^(kWeightBits - bits), at most kNarrow times that; others have all the bits.
  std::int32_t bits = kWeightBits;
  bool narrow() const noexcept { return bits < kWeightBits; }
};

/// Which pass a plan is for: along the rows, or down the columns.
enum class ResizePass : std::uint8_t { kHorizontal, kVertical };

/// A plan, and the same weights in the order in which one SIMD level reads them. Reused from picture to picture;
/// asking again for what it holds costs nothing.
class PackedAxis {
 public:
  explicit PackedAxis(MemoryLedger& ledger) noexcept : plain_(ledger), packed_(ledger) {}

  /// kResourceExhausted as Buffer::ensure; the sizes are positive.
  Status make(std::int32_t in, std::int32_t out, Filter filter, Arithmetic arithmetic, ResizePass pass, Level level) {
    return make(Span::all(in), out, filter, arithmetic, pass, level);
  }
  /// make() for a part of a line, by Pillow's arithmetic; the pixels that are there are those of read_by, or more.
  Status make(const Span& span, std::int32_t out, Filter filter, Arithmetic arithmetic, ResizePass pass, Level level);

  const Axis& axis() const noexcept { return axis_; }
  const std::uint8_t* packed() const noexcept { return packed_.data(); }
  void reset() noexcept;

 private:
  Buffer plain_;
  Buffer packed_;
  Axis axis_;
  Span span_;
  Filter filter_ = Filter::kBilinear;
  Arithmetic arithmetic_ = Arithmetic::kPillow;
  ResizePass pass_ = ResizePass::kHorizontal;
  Level level_ = Level::kPortable;
};

}  // namespace drapps::kernel
