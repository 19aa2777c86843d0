// A row of pixels, as many at a time as a vector has bytes. Included by ycc_words.h and ycc_avx512vbmi.cc only;
// everything has internal linkage, since each compiles it for its own level.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace drapps::kernel::jpeg {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

/// Arguments as in ycc.h. `step(red, green, blue, y, cb, cr)` converts kPixels pixels, at any alignment.
template <std::size_t kPixels, class Step>
void convert_row(std::uint8_t* const rgb[3], const std::uint8_t* const ycc[3], std::size_t n, Step step) {
  std::uint8_t *red = rgb[0], *green = rgb[1], *blue = rgb[2];
  const std::uint8_t *y = ycc[0], *cb = ycc[1], *cr = ycc[2];
  if (n >= kPixels) {
    for (std::size_t x = 0; x + kPixels < n; x += kPixels) {
      step(red + x, green + x, blue + x, y + x, cb + x, cr + x);
    }
    // The last step overlaps the one before it where n is no multiple.
    const std::size_t x = n - kPixels;
    return step(red + x, green + x, blue + x, y + x, cb + x, cr + x);
  }
  if (n == 0) return;
  alignas(64) std::uint8_t few[6][kPixels]{};
  std::memcpy(few[0], y, n);
  std::memcpy(few[1], cb, n);
  std::memcpy(few[2], cr, n);
  step(few[3], few[4], few[5], few[0], few[1], few[2]);
  std::memcpy(red, few[3], n);
  std::memcpy(green, few[4], n);
  std::memcpy(blue, few[5], n);
}

}  // namespace
}  // namespace drapps::kernel::jpeg
