// The byte shuffles of planes.h, one set of functions per SIMD level. For planes.cc and its tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"

namespace drapps::kernel {

/// Arguments as in planes.h: inputs are read exactly, outputs written exactly.
struct PlaneKernels {
  void (*deinterleave3)(std::uint8_t* const out[3], const std::uint8_t* in, std::size_t n);
  void (*deinterleave4)(std::uint8_t* const out[4], const std::uint8_t* in, std::size_t n);
  void (*interleave3)(std::uint8_t* out, const std::uint8_t* const in[3], std::size_t n);
  void (*interleave4)(std::uint8_t* out, const std::uint8_t* const in[4], std::size_t n);
  void (*reverse)(std::uint8_t* out, const std::uint8_t* in, std::size_t n);
  void (*lookup)(std::uint8_t* out, const std::uint8_t* in, std::size_t n, const std::uint8_t* table);
};

extern const PlaneKernels kPlanesPortable;  // the reference
extern const PlaneKernels kPlanesAvx2;      // AVX-512 without VBMI moves no single bytes across its lanes either
extern const PlaneKernels kPlanesAvx512Vbmi;

}  // namespace drapps::kernel
