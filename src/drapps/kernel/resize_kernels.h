// The two passes of a resize, one set of functions per SIMD level. For resize.cc and its tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"
#include "drapps/kernel/resize_plan.h"

namespace drapps::kernel {

/// Bytes of one plane, a distance apart.
struct PlaneRows {
  std::uint8_t* data;
  std::ptrdiff_t stride;
};
struct ConstPlaneRows {
  const std::uint8_t* data;
  std::ptrdiff_t stride;
};

/// `packed` holds what pack() wrote for the same axis and pass; it is aligned to 64 bytes. Sources may be read up to
/// kPadding bytes past the end of a row; nothing is written outside the output's pixels.
struct ResizeKernels {
  std::size_t (*packed_size)(const Axis& axis, ResizePass pass);
  void (*pack)(std::uint8_t* packed, const Axis& axis, ResizePass pass);
  /// `rows` rows of axis.in pixels become as many of axis.out pixels.
  void (*horizontal)(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const Axis& axis, const std::uint8_t* packed);
  /// axis.in rows of `width` pixels become axis.out rows.
  void (*vertical)(PlaneRows out, ConstPlaneRows in, std::int32_t width, const Axis& axis, const std::uint8_t* packed);
};

extern const ResizeKernels kResizePortable;  // the reference
extern const ResizeKernels kResizeAvx2;
extern const ResizeKernels kResizeAvx512;
extern const ResizeKernels kResizeAvx512Vbmi;

const ResizeKernels& resize_kernels(Level level) noexcept;

}  // namespace drapps::kernel
