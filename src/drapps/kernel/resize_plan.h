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
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/data/buffer.h"
#include "drapps/kernel/level.h"

namespace drapps::kernel {

enum class Filter : std::uint8_t { kBilinear, kBicubic };

inline constexpr int kWeightBits = 22;

/// One direction of a resize. The pointers belong to the PackedAxis that made it.
struct Axis {
  std::int32_t in = 0;
  std::int32_t out = 0;
  std::int32_t stride = 0;                // weights kept per output: a multiple of 4, zero past count
  const std::int32_t* first = nullptr;    // [out] first source pixel
  const std::int32_t* count = nullptr;    // [out] number of source pixels, 1 … stride
  const std::int32_t* weights = nullptr;  // [out][stride]
};

/// Which pass a plan is for: along the rows, or down the columns.
enum class Pass : std::uint8_t { kHorizontal, kVertical };

/// A plan, and the same weights in the order in which one SIMD level reads them. Reused from picture to picture;
/// asking again for what it holds costs nothing.
class PackedAxis {
 public:
  explicit PackedAxis(MemoryLedger& ledger) noexcept : plain_(ledger), packed_(ledger) {}

  /// kResourceExhausted as Buffer::ensure; the sizes are positive.
  Status make(std::int32_t in, std::int32_t out, Filter filter, Pass pass, Level level);

  const Axis& axis() const noexcept { return axis_; }
  const std::uint8_t* packed() const noexcept { return packed_.data(); }
  void reset() noexcept;

 private:
  Buffer plain_;
  Buffer packed_;
  Axis axis_;
  Filter filter_ = Filter::kBilinear;
  Pass pass_ = Pass::kHorizontal;
  Level level_ = Level::kPortable;
};

}  // namespace drapps::kernel
