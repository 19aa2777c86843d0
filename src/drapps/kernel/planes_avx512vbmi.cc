// Shuffles by VBMI: any byte of two vectors to any place of a third. Tails are masked.
#include "drapps/kernel/avx512.h"
#include "drapps/kernel/planes_kernels.h"
#include "drapps/kernel/vector_table.h"

namespace drapps::kernel {
namespace {

constexpr std::size_t kBytes = 64;

using Index = VectorTable<std::uint8_t, kBytes>;

template <class Rule>
constexpr Index index_by(Rule rule) {
  return table_by<std::uint8_t, kBytes>(rule);
}

template <class Rule>
constexpr std::uint64_t mask_by(Rule rule) {
  std::uint64_t mask = 0;
  for (std::size_t i = 0; i < kBytes; ++i) mask |= std::uint64_t{rule(i) ? 1U : 0U} << i;
  return mask;
}

__m512i load(const Index& index) { return _mm512_load_si512(index.at); }

/// The first n of 64 lanes; n may be more.
std::uint64_t first_lanes(std::size_t n) { return n >= kBytes ? ~std::uint64_t{0} : (std::uint64_t{1} << n) - 1; }

/// Vector k of a list of `size` bytes, zeros past its end.
__m512i load_part(const std::uint8_t* from, std::size_t k, std::size_t size) {
  if (size >= (k + 1) * kBytes) return _mm512_loadu_si512(from + k * kBytes);
  return size <= k * kBytes ? _mm512_setzero_si512()
                            : _mm512_maskz_loadu_epi8(first_lanes(size - k * kBytes), from + k * kBytes);
}

void store_part(std::uint8_t* to, std::size_t k, std::size_t size, __m512i bytes) {
  if (size >= (k + 1) * kBytes) {
    _mm512_storeu_si512(to + k * kBytes, bytes);
  } else if (size > k * kBytes) {
    _mm512_mask_storeu_epi8(to + k * kBytes, first_lanes(size - k * kBytes), bytes);
  }
}

// Pixel i of channel c is byte 3 i + c of three vectors: the first two by one shuffle, the third by another.
constexpr Index kSplit3[3]{index_by([](std::size_t i) { return (3 * i) % 128; }),
                           index_by([](std::size_t i) { return (3 * i + 1) % 128; }),
                           index_by([](std::size_t i) { return (3 * i + 2) % 128; })};
constexpr std::uint64_t kSplit3Third[3]{mask_by([](std::size_t i) { return 3 * i >= 128; }),
                                        mask_by([](std::size_t i) { return 3 * i + 1 >= 128; }),
                                        mask_by([](std::size_t i) { return 3 * i + 2 >= 128; })};

void deinterleave3(std::uint8_t* const out[3], const std::uint8_t* in, std::size_t n) {
  for (std::size_t x = 0; x < n; x += kBytes) {
    const std::size_t left = n - x;
    const __m512i v0 = load_part(in + 3 * x, 0, 3 * left);
    const __m512i v1 = load_part(in + 3 * x, 1, 3 * left);
    const __m512i v2 = load_part(in + 3 * x, 2, 3 * left);
    for (std::size_t c = 0; c < 3; ++c) {
      const __m512i index = load(kSplit3[c]);
      const __m512i two = _mm512_permutex2var_epi8(v0, index, v1);
      store_part(out[c] + x, 0, left, _mm512_mask_permutexvar_epi8(two, kSplit3Third[c], index, v2));
    }
  }
}

constexpr Index kSplit4[4]{index_by([](std::size_t i) { return (4 * i) % 128; }),
                           index_by([](std::size_t i) { return (4 * i + 1) % 128; }),
                           index_by([](std::size_t i) { return (4 * i + 2) % 128; }),
                           index_by([](std::size_t i) { return (4 * i + 3) % 128; })};

void deinterleave4(std::uint8_t* const out[4], const std::uint8_t* in, std::size_t n) {
  for (std::size_t x = 0; x < n; x += kBytes) {
    const std::size_t left = n - x;
    __m512i v[4];
    for (std::size_t k = 0; k < 4; ++k) v[k] = load_part(in + 4 * x, k, 4 * left);
    for (std::size_t c = 0; c < 4; ++c) {
      const __m512i index = load(kSplit4[c]);
      const __m512i first = _mm512_permutex2var_epi8(v[0], index, v[1]);
      const __m512i second = _mm512_permutex2var_epi8(v[2], index, v[3]);
      store_part(out[c] + x, 0, left, _mm512_inserti64x4(first, _mm512_castsi512_si256(second), 1));
    }
  }
}

// Byte j of output vector k is channel (64 k + j) % 3 of pixel (64 k + j) / 3.
constexpr std::size_t channel3(std::size_t k, std::size_t j) { return (kBytes * k + j) % 3; }
constexpr Index join3(std::size_t k) {
  return index_by([k](std::size_t j) { return (kBytes * k + j) / 3 + (channel3(k, j) == 1 ? kBytes : 0); });
}
constexpr std::uint64_t join3_third(std::size_t k) {
  return mask_by([k](std::size_t j) { return channel3(k, j) == 2; });
}
constexpr Index kJoin3[3]{join3(0), join3(1), join3(2)};
constexpr std::uint64_t kJoin3Third[3]{join3_third(0), join3_third(1), join3_third(2)};

void interleave3(std::uint8_t* out, const std::uint8_t* const in[3], std::size_t n) {
  for (std::size_t x = 0; x < n; x += kBytes) {
    const std::size_t left = n - x;
    const __m512i v0 = load_part(in[0] + x, 0, left);
    const __m512i v1 = load_part(in[1] + x, 0, left);
    const __m512i v2 = load_part(in[2] + x, 0, left);
    for (std::size_t k = 0; k < 3; ++k) {
      const __m512i index = load(kJoin3[k]);
      const __m512i two = _mm512_permutex2var_epi8(v0, index, v1);
      store_part(out + 3 * x, k, 3 * left, _mm512_mask_permutexvar_epi8(two, kJoin3Third[k], index, v2));
    }
  }
}

// Byte j of output vector k is channel j % 4 of pixel 16 k + j / 4; odd channels come from the second operand.
constexpr Index join4(std::size_t k) {
  return index_by([k](std::size_t j) { return 16 * k + j / 4 + (j % 2) * kBytes; });
}
constexpr Index kJoin4[4]{join4(0), join4(1), join4(2), join4(3)};

void interleave4(std::uint8_t* out, const std::uint8_t* const in[4], std::size_t n) {
  constexpr std::uint64_t kLastTwo = mask_by([](std::size_t j) { return j % 4 >= 2; });
  for (std::size_t x = 0; x < n; x += kBytes) {
    const std::size_t left = n - x;
    __m512i v[4];
    for (std::size_t c = 0; c < 4; ++c) v[c] = load_part(in[c] + x, 0, left);
    for (std::size_t k = 0; k < 4; ++k) {
      const __m512i index = load(kJoin4[k]);
      const __m512i first = _mm512_permutex2var_epi8(v[0], index, v[1]);
      const __m512i last = _mm512_permutex2var_epi8(v[2], index, v[3]);
      store_part(out + 4 * x, k, 4 * left, _mm512_mask_blend_epi8(kLastTwo, first, last));
    }
  }
}

void reverse(std::uint8_t* out, const std::uint8_t* in, std::size_t n) {
  constexpr Index kReverse = index_by([](std::size_t i) { return kBytes - 1 - i; });
  const __m512i index = load(kReverse);
  std::size_t x = 0;
  for (; x + kBytes <= n; x += kBytes) {
    _mm512_storeu_si512(out + x, _mm512_permutexvar_epi8(index, _mm512_loadu_si512(in + (n - x - kBytes))));
  }
  const std::size_t left = n - x;
  if (left == 0) return;
  // The same indices, moved so that the last of the first `left` bytes comes first.
  const __m512i moved = _mm512_sub_epi8(index, _mm512_set1_epi8(static_cast<char>(kBytes - left)));
  const std::uint64_t mask = first_lanes(left);
  _mm512_mask_storeu_epi8(out + x, mask, _mm512_permutexvar_epi8(moved, _mm512_maskz_loadu_epi8(mask, in)));
}

void lookup(std::uint8_t* out, const std::uint8_t* in, std::size_t n, const std::uint8_t* table) {
  const __m512i t0 = _mm512_loadu_si512(table), t1 = _mm512_loadu_si512(table + 64);
  const __m512i t2 = _mm512_loadu_si512(table + 128), t3 = _mm512_loadu_si512(table + 192);
  for (std::size_t x = 0; x < n; x += kBytes) {
    const __m512i bytes = load_part(in + x, 0, n - x);
    const __m512i low = _mm512_permutex2var_epi8(t0, bytes, t1);
    const __m512i high = _mm512_permutex2var_epi8(t2, bytes, t3);
    store_part(out + x, 0, n - x, _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes), low, high));
  }
}

}  // namespace

const PlaneKernels kPlanesAvx512Vbmi{deinterleave3, deinterleave4, interleave3, interleave4, reverse, lookup};

}  // namespace drapps::kernel
