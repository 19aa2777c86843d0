// The loops of upsample.h in plain C++: the reference, and what is left for rows shorter than a vector. Included by
// pixels_<level>.cc only, which is why everything here has internal linkage: an inline function compiled for AVX-512
// must never be the copy that the linker keeps for all.
//
// The arithmetic is that of libjpeg-turbo's jdsample.c. Where two outputs of a sample round differently, they do so
// against each other (1 and 2, 8 and 7): on average the picture keeps its brightness.
#pragma once

#include <cstddef>
#include <cstdint>

namespace drapps::kernel::jpeg {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

/// 16 bits suffice for every sum here, and twice as many fit in a vector.
using Sum = std::uint16_t;

void upsample_across(std::uint8_t* __restrict out, const std::uint8_t* __restrict in, std::size_t n) {
  const std::uint8_t *before = in - 1, *after = in + 1;
  for (std::size_t i = 0; i < n; ++i) {
    const auto near = static_cast<Sum>(3 * in[i]);
    out[2 * i] = static_cast<std::uint8_t>(static_cast<Sum>(near + before[i] + 1) >> 2);
    out[2 * i + 1] = static_cast<std::uint8_t>(static_cast<Sum>(near + after[i] + 2) >> 2);
  }
}

void upsample_down(std::uint8_t* __restrict out, const std::uint8_t* __restrict near,
                   const std::uint8_t* __restrict far, std::size_t n, bool below) {
  const auto bias = static_cast<Sum>(below ? 2 : 1);
  for (std::size_t i = 0; i < n; ++i) {
    out[i] = static_cast<std::uint8_t>(static_cast<Sum>(3 * near[i] + far[i] + bias) >> 2);
  }
}

void upsample_both(std::uint8_t* __restrict out, const std::uint8_t* __restrict near,
                   const std::uint8_t* __restrict far, std::size_t n) {
  const std::uint8_t *near_before = near - 1, *far_before = far - 1, *near_after = near + 1, *far_after = far + 1;
  for (std::size_t i = 0; i < n; ++i) {
    const auto last = static_cast<Sum>(3 * near_before[i] + far_before[i]);
    const auto here = static_cast<Sum>(3 * (3 * near[i] + far[i]));
    const auto next = static_cast<Sum>(3 * near_after[i] + far_after[i]);
    out[2 * i] = static_cast<std::uint8_t>(static_cast<Sum>(here + last + 8) >> 4);
    out[2 * i + 1] = static_cast<std::uint8_t>(static_cast<Sum>(here + next + 7) >> 4);
  }
}

}  // namespace
}  // namespace drapps::kernel::jpeg
