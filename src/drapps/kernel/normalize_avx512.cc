// Elements move anywhere by one shuffle of two vectors. The arithmetic is that of AVX2: 512-bit multiplications lower
// the clock of the processors that have no VBMI, and stores bound it anyway.
#include "drapps/kernel/normalize_kernels.h"
#include "drapps/kernel/store_avx512.h"

namespace drapps::kernel {
namespace {

// Element j of output vector k is channel (lanes k + j) % 3 of pixel (lanes k + j) / 3. The first two channels come by
// one shuffle of two vectors, the third by a masked one.
template <class Element>
struct Join3 {
  static constexpr std::size_t kLanes = 64 / sizeof(Element);
  struct Vector {
    Element at[kLanes];
  };
  alignas(64) Vector index[3]{};
  std::uint32_t third[3]{};

  constexpr Join3() {
    for (std::size_t i = 0; i < 3 * kLanes; ++i) {
      index[i / kLanes].at[i % kLanes] = static_cast<Element>(i / 3 + (i % 3 == 1 ? kLanes : 0));
      if (i % 3 == 2) third[i / kLanes] |= std::uint32_t{1} << (i % kLanes);
    }
  }
};
constexpr Join3<std::uint32_t> kJoin32;
constexpr Join3<std::uint16_t> kJoin16;

}  // namespace

void interleave3x32_avx512(std::uint32_t* out, const std::uint32_t* in, std::size_t stride, std::size_t n,
                           bool stream) {
  stream = stream && aligned(out);
  for (std::size_t x = 0; x < n; x += 16) {
    const __m512i v0 = _mm512_loadu_si512(in + x), v1 = _mm512_loadu_si512(in + stride + x);
    const __m512i v2 = _mm512_loadu_si512(in + 2 * stride + x);
    __m512i joined[3];
    for (std::size_t k = 0; k < 3; ++k) {
      const __m512i index = _mm512_load_si512(kJoin32.index[k].at);
      joined[k] = _mm512_mask_permutexvar_epi32(_mm512_permutex2var_epi32(v0, index, v1),
                                                static_cast<__mmask16>(kJoin32.third[k]), index, v2);
    }
    store(reinterpret_cast<std::uint8_t*>(out + 3 * x), joined, 12 * (n - x), stream);
  }
}

void interleave3x16_avx512(std::uint16_t* out, const std::uint16_t* in, std::size_t stride, std::size_t n,
                           bool stream) {
  stream = stream && aligned(out);
  for (std::size_t x = 0; x < n; x += 32) {
    const __m512i v0 = _mm512_loadu_si512(in + x), v1 = _mm512_loadu_si512(in + stride + x);
    const __m512i v2 = _mm512_loadu_si512(in + 2 * stride + x);
    __m512i joined[3];
    for (std::size_t k = 0; k < 3; ++k) {
      const __m512i index = _mm512_load_si512(kJoin16.index[k].at);
      joined[k] = _mm512_mask_permutexvar_epi16(_mm512_permutex2var_epi16(v0, index, v1), kJoin16.third[k], index, v2);
    }
    store(reinterpret_cast<std::uint8_t*>(out + 3 * x), joined, 6 * (n - x), stream);
  }
}

const NormalizeKernels kNormalizeAvx512{to_float32_avx2, to_bfloat16_avx2, to_float16_avx2, interleave3x32_avx512,
                                        interleave3x16_avx512};

}  // namespace drapps::kernel
