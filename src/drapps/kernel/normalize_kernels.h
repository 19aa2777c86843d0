// The loops of a Normalizer, one set of functions per SIMD level. For normalize.cc and its tests.
#pragma once

#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"
#include "drapps/kernel/normalize.h"

namespace drapps::kernel {

/// `in` may be read up to kPadding bytes past its end; `out` is written exactly. With `stream`, whole vectors go past
/// the caches where out's alignment allows it; the caller fences.
struct NormalizeKernels {
  void (*to_float32)(float* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table, bool stream);
  void (*to_bfloat16)(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table,
                      bool stream);
  void (*to_float16)(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table, bool stream);
  /// out[3 * i + c] = in[c * stride + i], for elements of four and of two bytes.
  void (*interleave3x32)(std::uint32_t* out, const std::uint32_t* in, std::size_t stride, std::size_t n, bool stream);
  void (*interleave3x16)(std::uint16_t* out, const std::uint16_t* in, std::size_t stride, std::size_t n, bool stream);
};

/// Members of more than one of the sets below.
void to_float32_avx2(float* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table, bool stream);
void to_bfloat16_avx2(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table,
                      bool stream);
void to_float16_avx2(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table, bool stream);
void interleave3x32_avx512(std::uint32_t* out, const std::uint32_t* in, std::size_t stride, std::size_t n, bool stream);
void interleave3x16_avx512(std::uint16_t* out, const std::uint16_t* in, std::size_t stride, std::size_t n, bool stream);

extern const NormalizeKernels kNormalizePortable;  // the reference
extern const NormalizeKernels kNormalizeAvx2;
extern const NormalizeKernels kNormalizeAvx512;
extern const NormalizeKernels kNormalizeAvx512Vbmi;

const NormalizeKernels& normalize_kernels(Level level) noexcept;

}  // namespace drapps::kernel
