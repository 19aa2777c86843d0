// The vertical pass, in plain loops that a compiler makes vectors of. Included by resize_float_<level>.cc only;
// everything has internal linkage and calls no inline function of others, since each compiles it for its own level.
#pragma once

#include "drapps/kernel/resize_float.h"

namespace drapps::kernel {
namespace {  // NOLINT(google-build-namespaces)

void vertical(std::uint8_t* out, const float* in, std::ptrdiff_t stride, std::int32_t width, const FloatAxis& axis,
              std::int32_t y) {
  constexpr std::int32_t kStrip = 256;
  const float* rows = in + axis.first[y] * stride;
  for (std::int32_t x0 = 0; x0 < width; x0 += kStrip) {
    const std::int32_t n = width - x0 < kStrip ? width - x0 : kStrip;
    float sums[kStrip];
    for (std::int32_t t = 0; t < axis.taps; ++t) {
      const float weight = axis.weights[static_cast<std::ptrdiff_t>(t) * axis.padded + y];
      if (weight == 0.0F && t > 0) continue;  // past what it needs, where a row may not be there
      const float* row = rows + t * stride + x0;
      if (t == 0) {
        for (std::int32_t x = 0; x < n; ++x) sums[x] = row[x] * weight;
      } else if (t < axis.plain[y]) {
        for (std::int32_t x = 0; x < n; ++x) sums[x] += row[x] * weight;
      } else {
        for (std::int32_t x = 0; x < n; ++x) sums[x] = __builtin_fmaf(row[x], weight, sums[x]);
      }
    }
    // Adding 3 * 2^22 leaves no bit for a fraction: rounded to nearest, halves to even.
    constexpr float kToWhole = 12582912.0F;
    for (std::int32_t x = 0; x < n; ++x) {
      const float whole = (sums[x] + kToWhole) - kToWhole;
      out[x0 + x] = static_cast<std::uint8_t>(whole < 255.0F ? whole : 255.0F);
    }
  }
}

}  // namespace
}  // namespace drapps::kernel
