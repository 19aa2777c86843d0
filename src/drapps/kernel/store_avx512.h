// Stores of several vectors at once. Included by normalize_avx512.cc and normalize_avx512vbmi.cc only; everything has
// internal linkage, since each compiles it for its own level.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/avx512.h"

namespace drapps::kernel {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

/// Stores `n` bytes of consecutive vectors.
template <int kVectors>
void store(std::uint8_t* out, const __m512i (&v)[kVectors], std::size_t n, bool stream) {
  if (n >= kVectors * 64) {
    for (int k = 0; k < kVectors; ++k) {
      auto* to = reinterpret_cast<__m512i*>(out + 64 * k);
      if (stream) {
        _mm512_stream_si512(to, v[k]);
      } else {
        _mm512_storeu_si512(to, v[k]);
      }
    }
    return;
  }
  for (std::size_t k = 0; k * 64 < n; ++k) {
    const std::size_t left = n - 64 * k;
    const std::uint64_t mask = left >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << left) - 1;
    _mm512_mask_storeu_epi8(out + 64 * k, mask, v[k]);
  }
}

inline bool aligned(const void* out) { return reinterpret_cast<std::uintptr_t>(out) % 64 == 0; }

}  // namespace
}  // namespace drapps::kernel
