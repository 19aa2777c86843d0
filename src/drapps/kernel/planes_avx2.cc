// Shuffles of 16 pixels at a time by vpshufb, which takes any byte of one vector to any place of another and
// zeros the rest, so that parts join by or. Tails go byte by byte.
#include <immintrin.h>

#include "drapps/kernel/planes_kernels.h"

namespace drapps::kernel {
namespace {

constexpr std::size_t kLanes = 16;

struct alignas(16) Index {
  std::uint8_t at[kLanes];
};

constexpr std::uint8_t kZero = 0x80;

template <class Rule>
constexpr Index index_by(Rule rule) {
  Index index{};
  for (std::size_t i = 0; i < kLanes; ++i) index.at[i] = static_cast<std::uint8_t>(rule(i));
  return index;
}

__m128i load(const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }
__m128i load(const Index& index) { return _mm_load_si128(reinterpret_cast<const __m128i*>(index.at)); }
void store(std::uint8_t* to, __m128i bytes) { _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes); }

// [channel][input vector]: pixel i of channel c is byte 3 i + c of three vectors.
constexpr Index split3(std::size_t c, std::size_t k) {
  return index_by([=](std::size_t i) {
    const std::size_t byte = 3 * i + c;
    return byte / kLanes == k ? byte % kLanes : std::size_t{kZero};
  });
}
constexpr Index kSplit3[3][3]{{split3(0, 0), split3(0, 1), split3(0, 2)},
                              {split3(1, 0), split3(1, 1), split3(1, 2)},
                              {split3(2, 0), split3(2, 1), split3(2, 2)}};

// [output vector][channel]: byte j of output vector k is channel (16 k + j) % 3 of pixel (16 k + j) / 3.
constexpr Index join3(std::size_t k, std::size_t c) {
  return index_by([=](std::size_t j) {
    const std::size_t byte = kLanes * k + j;
    return byte % 3 == c ? byte / 3 : std::size_t{kZero};
  });
}
constexpr Index kJoin3[3][3]{{join3(0, 0), join3(0, 1), join3(0, 2)},
                             {join3(1, 0), join3(1, 1), join3(1, 2)},
                             {join3(2, 0), join3(2, 1), join3(2, 2)}};

__m128i picked(const __m128i v[3], const Index index[3]) {
  return _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(v[0], load(index[0])), _mm_shuffle_epi8(v[1], load(index[1]))),
                      _mm_shuffle_epi8(v[2], load(index[2])));
}

void deinterleave3(std::uint8_t* const out[3], const std::uint8_t* in, std::size_t n) {
  std::size_t x = 0;
  for (; x + kLanes <= n; x += kLanes) {
    const std::uint8_t* from = in + 3 * x;
    const __m128i v[3]{load(from), load(from + kLanes), load(from + 2 * kLanes)};
    for (std::size_t c = 0; c < 3; ++c) store(out[c] + x, picked(v, kSplit3[c]));
  }
  for (; x < n; ++x) {
    for (std::size_t c = 0; c < 3; ++c) out[c][x] = in[3 * x + c];
  }
}

void interleave3(std::uint8_t* out, const std::uint8_t* const in[3], std::size_t n) {
  std::size_t x = 0;
  for (; x + kLanes <= n; x += kLanes) {
    const __m128i v[3]{load(in[0] + x), load(in[1] + x), load(in[2] + x)};
    for (std::size_t k = 0; k < 3; ++k) store(out + 3 * x + kLanes * k, picked(v, kJoin3[k]));
  }
  for (; x < n; ++x) {
    for (std::size_t c = 0; c < 3; ++c) out[3 * x + c] = in[c][x];
  }
}

void deinterleave4(std::uint8_t* const out[4], const std::uint8_t* in, std::size_t n) {
  constexpr Index kByChannel = index_by([](std::size_t i) { return 4 * (i % 4) + i / 4; });
  const __m128i by_channel = load(kByChannel);
  std::size_t x = 0;
  for (; x + kLanes <= n; x += kLanes) {
    __m128i v[4];  // four pixels each, channel by channel: a 4 x 4 matrix of 32 bits remains to be transposed
    for (std::size_t k = 0; k < 4; ++k) v[k] = _mm_shuffle_epi8(load(in + 4 * x + kLanes * k), by_channel);
    const __m128i low01 = _mm_unpacklo_epi32(v[0], v[1]), high01 = _mm_unpackhi_epi32(v[0], v[1]);
    const __m128i low23 = _mm_unpacklo_epi32(v[2], v[3]), high23 = _mm_unpackhi_epi32(v[2], v[3]);
    store(out[0] + x, _mm_unpacklo_epi64(low01, low23));
    store(out[1] + x, _mm_unpackhi_epi64(low01, low23));
    store(out[2] + x, _mm_unpacklo_epi64(high01, high23));
    store(out[3] + x, _mm_unpackhi_epi64(high01, high23));
  }
  for (; x < n; ++x) {
    for (std::size_t c = 0; c < 4; ++c) out[c][x] = in[4 * x + c];
  }
}

void interleave4(std::uint8_t* out, const std::uint8_t* const in[4], std::size_t n) {
  std::size_t x = 0;
  for (; x + kLanes <= n; x += kLanes) {
    const __m128i v0 = load(in[0] + x), v1 = load(in[1] + x), v2 = load(in[2] + x), v3 = load(in[3] + x);
    const __m128i low01 = _mm_unpacklo_epi8(v0, v1), high01 = _mm_unpackhi_epi8(v0, v1);
    const __m128i low23 = _mm_unpacklo_epi8(v2, v3), high23 = _mm_unpackhi_epi8(v2, v3);
    std::uint8_t* to = out + 4 * x;
    store(to, _mm_unpacklo_epi16(low01, low23));
    store(to + kLanes, _mm_unpackhi_epi16(low01, low23));
    store(to + 2 * kLanes, _mm_unpacklo_epi16(high01, high23));
    store(to + 3 * kLanes, _mm_unpackhi_epi16(high01, high23));
  }
  for (; x < n; ++x) {
    for (std::size_t c = 0; c < 4; ++c) out[4 * x + c] = in[c][x];
  }
}

void reverse(std::uint8_t* out, const std::uint8_t* in, std::size_t n) {
  constexpr Index kReverse = index_by([](std::size_t i) { return kLanes - 1 - i; });
  const __m128i index = load(kReverse);
  std::size_t x = 0;
  for (; x + kLanes <= n; x += kLanes) store(out + x, _mm_shuffle_epi8(load(in + (n - x - kLanes)), index));
  for (; x < n; ++x) out[x] = in[n - 1 - x];
}

/// No shuffle reaches 256 entries here: one load per byte is as fast as sixteen shuffles.
void lookup(std::uint8_t* out, const std::uint8_t* in, std::size_t n, const std::uint8_t* table) {
  for (std::size_t x = 0; x < n; ++x) out[x] = table[in[x]];
}

}  // namespace

const PlaneKernels kPlanesAvx2{deinterleave3, deinterleave4, interleave3, interleave4, reverse, lookup};

}  // namespace drapps::kernel
