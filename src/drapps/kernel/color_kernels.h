// The loops of color.h over one row, one set of functions per SIMD level. For color.cc and its tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"

namespace drapps::kernel {

/// Rows of `n` pixels, one per plane; `out` may be `in`.
struct ColorKernels {
  void (*luma)(std::uint8_t* out, const std::uint8_t* const in[3], std::size_t n);
  /// Blend with the row's own luma; `clip` where the factor lies outside [0, 1].
  void (*saturate)(std::uint8_t* const out[3], const std::uint8_t* const in[3], std::size_t n, float factor, bool clip);
  /// Adds `shift` to the 8-bit hue.
  void (*turn_hue)(std::uint8_t* const out[3], const std::uint8_t* const in[3], std::size_t n, std::uint8_t shift);
};

extern const ColorKernels kColorPortable;  // the reference
extern const ColorKernels kColorAvx2;
extern const ColorKernels kColorAvx512;
extern const ColorKernels kColorAvx512Vbmi;

}  // namespace drapps::kernel
