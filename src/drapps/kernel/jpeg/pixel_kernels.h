// What turns coefficients into pixels, one set of functions per SIMD level. For pixels.cc and its tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"

namespace drapps::kernel::jpeg {

/// Arguments as in idct.h, upsample.h and ycc.h; a count may be 0. Inputs are read exactly, outputs written exactly.
struct PixelKernels {
  void (*inverse_dct)(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* blocks, std::size_t count,
                      const std::int16_t* quant);
  void (*upsample_across)(std::uint8_t* out, const std::uint8_t* in, std::size_t n);
  void (*upsample_down)(std::uint8_t* out, const std::uint8_t* near, const std::uint8_t* far, std::size_t n,
                        bool below);
  void (*upsample_both)(std::uint8_t* out, const std::uint8_t* near, const std::uint8_t* far, std::size_t n);
  void (*ycc_to_rgb)(std::uint8_t* const rgb[3], const std::uint8_t* const ycc[3], std::size_t n);
};

/// The member of kPixelsAvx512Vbmi that has a file of its own.
void ycc_to_rgb_avx512vbmi(std::uint8_t* const rgb[3], const std::uint8_t* const ycc[3], std::size_t n);

extern const PixelKernels kPixelsPortable;  // the reference
extern const PixelKernels kPixelsAvx2;
extern const PixelKernels kPixelsAvx512;
extern const PixelKernels kPixelsAvx512Vbmi;

}  // namespace drapps::kernel::jpeg
