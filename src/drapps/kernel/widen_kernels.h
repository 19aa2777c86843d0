// The loops of widen.h, one set per SIMD level. For widen.cc and its tests.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drapps::kernel {

struct WidenKernels {
  using Widen = std::uint64_t (*)(std::int64_t* out, const std::uint8_t* in, std::size_t n);
  Widen from8;
  Widen from16;
  Widen from32;
  Widen from64;
};

extern const WidenKernels kWidenPortable;  // the reference
extern const WidenKernels kWidenAvx2;

}  // namespace drapps::kernel
