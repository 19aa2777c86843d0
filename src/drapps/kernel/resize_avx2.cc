// Exact resizing with 16-bit multiplications.
//
// 1. A weight of 22 fraction bits is a * 2^16 + b with signed digits of 16 bits. vpmaddwd sums two products of
//    16-bit numbers into 32 bits, so two of them per two taps give the sums of the reference, exactly:
//    (A << 16) + B. The rounding half, 2^21, is 32 * 2^16 and starts the sum of the first digit. Narrow weights are one
//    digit, and have fewer bits.
// 2. The horizontal pass makes 8 outputs at a time, four per half of a vector. vpshufb picks two bytes for each of the
//    four from a window of 16 source bytes and widens them by the same stroke; the next two taps are picked by the same
//    indices from a window two bytes on.
// 3. Where four outputs span more than one window (shrinking by 4.7 and more) an output has many taps, and the taps
//    themselves fill the vectors.
// 4. The vertical pass interleaves two rows, so that the two taps of one column stand together.
#include <immintrin.h>

#include "drapps/kernel/resize_kernels.h"

namespace drapps::kernel {
namespace {

constexpr std::int32_t kLanes = 8;  // outputs per group
constexpr std::ptrdiff_t kVector = 32;

std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }

std::int32_t digits_of(const Axis& axis) { return axis.narrow() ? 1 : 2; }

/// How sums begin and end.
struct Scale {
  __m256i half;  // rounds, in the first digit
  __m128i bits;
};

Scale scale_of(const Axis& axis) {
  return {_mm256_set1_epi32(1 << (axis.bits - 1 - 16 * (digits_of(axis) - 1))), _mm_cvtsi32_si128(axis.bits)};
}

/// The start of a horizontal plan.
struct alignas(32) Header {
  std::int32_t long_taps;  // 1 where groups do not fit their windows
  std::int32_t chunks;     // of 16 taps, for long taps
};

/// 8 outputs: their index vector follows, then a vector of each digit per pair of taps.
struct alignas(32) Group {
  std::int32_t base[2];  // source pixel at which the window of either half starts
  std::int32_t pairs;
};

std::ptrdiff_t group_size(const Axis& axis) {
  return kVector * (2 + digits_of(axis) * std::ptrdiff_t{axis.stride / 2});
}
std::int32_t long_chunks(std::int32_t stride) { return (stride + 15) / 16; }
std::int32_t groups_of(const Axis& axis) { return (axis.out + kLanes - 1) / kLanes; }

bool has_long_taps(const Axis& axis) {
  for (std::int32_t x = 0; x < axis.out; x += 4) {
    if (axis.first[smaller(x + 4, axis.out) - 1] + 2 - axis.first[x] > 16) return true;
  }
  return false;
}

/// Writes the digits of weights: the high one to `out`, the low one `pitch` numbers on; a narrow weight to `out` alone.
struct Splitter {
  bool narrow;
  std::int32_t shift;
  std::ptrdiff_t pitch;

  Splitter(const Axis& axis, std::ptrdiff_t apart)
      : narrow(axis.narrow()), shift(kWeightBits - axis.bits), pitch(apart) {}

  void operator()(std::int16_t* out, std::int32_t w) const {
    *out = static_cast<std::int16_t>(narrow ? w >> shift : (w + 0x8000) >> 16);
    if (!narrow) out[pitch] = static_cast<std::int16_t>(w & 0xFFFF);
  }
};

void pack_group(std::uint8_t* packed, const Axis& axis, std::int32_t x0) {
  auto* group = reinterpret_cast<Group*>(packed);
  std::uint8_t* index = packed + kVector;
  auto* digits = reinterpret_cast<std::int16_t*>(index + kVector);
  const std::int32_t last = axis.out - 1;
  std::int32_t taps = 0;
  for (std::int32_t i = 0; i < kLanes; ++i) {
    const std::int32_t x = smaller(x0 + i, last);
    if (i % 4 == 0) group->base[i / 4] = axis.first[x];
    const auto offset = static_cast<std::uint32_t>(axis.first[x] - group->base[i / 4]);
    const std::uint32_t two = 0x80008000U | offset | (offset + 1) << 16;  // 0x80 gives the zero of the upper byte
    __builtin_memcpy(index + 4 * i, &two, 4);
    taps = axis.count[x] > taps ? axis.count[x] : taps;
  }
  group->pairs = (taps + 1) / 2;
  const Splitter split(axis, 16);
  for (std::int32_t j = 0; j < group->pairs; ++j, digits += 16 * digits_of(axis)) {
    for (std::int32_t i = 0; i < kLanes; ++i) {
      for (std::int32_t t = 0; t < 2; ++t) {
        const std::int32_t w =
            x0 + i > last ? 0 : axis.weights[static_cast<std::ptrdiff_t>(x0 + i) * axis.stride + 2 * j + t];
        split(digits + 2 * i + t, w);
      }
    }
  }
}

std::size_t packed_size(const Axis& axis, Pass pass) {
  const std::ptrdiff_t digits = digits_of(axis);
  if (pass == Pass::kVertical) return static_cast<std::size_t>(axis.out * digits * axis.stride * 2);
  const std::ptrdiff_t groups = groups_of(axis) * group_size(axis);
  const std::ptrdiff_t longs = axis.out * digits * kVector * long_chunks(axis.stride);
  return static_cast<std::size_t>(kVector + (has_long_taps(axis) ? longs : groups));
}

/// The vertical pass reads pairs of digits: all high ones, then all low ones.
void pack_vertical(std::uint8_t* packed, const Axis& axis) {
  const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(axis.out) * axis.stride;
  auto* digits = reinterpret_cast<std::int16_t*>(packed);
  const Splitter split(axis, n);
  for (std::ptrdiff_t i = 0; i < n; ++i) split(digits + i, axis.weights[i]);
}

void pack(std::uint8_t* packed, const Axis& axis, Pass pass) {
  if (pass == Pass::kVertical) return pack_vertical(packed, axis);
  auto* header = reinterpret_cast<Header*>(packed);
  header->long_taps = has_long_taps(axis) ? 1 : 0;
  header->chunks = long_chunks(axis.stride);
  packed += kVector;
  if (header->long_taps == 0) {
    for (std::int32_t x = 0; x < axis.out; x += kLanes, packed += group_size(axis)) pack_group(packed, axis, x);
    return;
  }
  const Splitter split(axis, 16);
  const std::ptrdiff_t size = digits_of(axis) * kVector;
  for (std::int32_t x = 0; x < axis.out; ++x) {
    const std::int32_t* w = axis.weights + static_cast<std::ptrdiff_t>(x) * axis.stride;
    for (std::int32_t t = 0; t < 16 * header->chunks; t += 16, packed += size) {
      auto* digits = reinterpret_cast<std::int16_t*>(packed);
      for (std::int32_t i = 0; i < 16; ++i) split(digits + i, t + i < axis.stride ? w[t + i] : 0);
    }
  }
}

__m256i load(const std::uint8_t* from) { return _mm256_load_si256(reinterpret_cast<const __m256i*>(from)); }
__m128i load16(const std::uint8_t* from) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from)); }

/// The sum of the digits' sums.
template <int kDigits>
__m256i joined(const __m256i sums[kDigits]) {
  if constexpr (kDigits == 1) return sums[0];
  return _mm256_add_epi32(_mm256_slli_epi32(sums[0], 16), sums[kDigits - 1]);
}

void store8(std::uint8_t* target, __m256i sums, std::int32_t lanes) {
  const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
  const __m128i bytes = _mm_packus_epi16(words, words);
  if (lanes == kLanes) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(target), bytes);
  } else {
    const std::int64_t eight = _mm_cvtsi128_si64(bytes);
    __builtin_memcpy(target, &eight, static_cast<std::size_t>(lanes));
  }
}

__m256i window(const std::uint8_t* low, const std::uint8_t* high, __m256i index) {
  return _mm256_shuffle_epi8(_mm256_inserti128_si256(_mm256_castsi128_si256(load16(low)), load16(high), 1), index);
}

/// One group in a block of rows; kPairs of 0 stands for any number, otherwise the weights stay in registers.
template <int kDigits, int kPairs>
void block(Rows out, ConstRows in, std::int32_t rows, const std::uint8_t* packed, std::int32_t lanes,
           const Scale& scale) {
  const auto* group = reinterpret_cast<const Group*>(packed);
  const std::int32_t pairs = kPairs == 0 ? group->pairs : kPairs;
  const __m256i index = load(packed + kVector);
  const std::uint8_t* digits = packed + 2 * kVector;
  const std::uint8_t* low = in.data + group->base[0];
  const std::uint8_t* high = in.data + group->base[1];
  for (std::int32_t y = 0; y < rows; ++y, low += in.stride, high += in.stride) {
    __m256i sums[kDigits]{scale.half};
    for (std::int32_t j = 0; j < pairs; ++j) {
      const __m256i taps = window(low + 2 * j, high + 2 * j, index);
      for (int d = 0; d < kDigits; ++d) {
        sums[d] = _mm256_add_epi32(sums[d], _mm256_madd_epi16(taps, load(digits + (kDigits * j + d) * kVector)));
      }
    }
    store8(out.data + y * out.stride, _mm256_sra_epi32(joined<kDigits>(sums), scale.bits), lanes);
  }
}

template <int kDigits>
void any_block(Rows out, ConstRows in, std::int32_t rows, const std::uint8_t* packed, std::int32_t lanes,
               const Scale& scale) {
  switch (reinterpret_cast<const Group*>(packed)->pairs) {
    case 1: return block<kDigits, 1>(out, in, rows, packed, lanes, scale);
    case 2: return block<kDigits, 2>(out, in, rows, packed, lanes, scale);
    case 3: return block<kDigits, 3>(out, in, rows, packed, lanes, scale);
    default: return block<kDigits, 0>(out, in, rows, packed, lanes, scale);
  }
}

std::int32_t sum_of_lanes(__m256i v) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
  return _mm_cvtsi128_si32(sum);
}

/// One row of outputs whose taps fill vectors. Up to 15 bytes past the last tap are read, with weights of zero.
template <int kDigits>
void long_row(std::uint8_t* target, const std::uint8_t* source, const Axis& axis, const std::uint8_t* packed,
              std::int32_t chunks) {
  for (std::int32_t x = 0; x < axis.out; ++x, packed += kDigits * kVector * chunks) {
    const std::uint8_t* taps = source + axis.first[x];
    __m256i sums[kDigits]{};
    for (std::int32_t j = 0; 16 * j < axis.count[x]; ++j) {
      const __m256i words = _mm256_cvtepu8_epi16(load16(taps + 16 * j));
      for (int d = 0; d < kDigits; ++d) {
        sums[d] = _mm256_add_epi32(sums[d], _mm256_madd_epi16(words, load(packed + (kDigits * j + d) * kVector)));
      }
    }
    const std::int32_t exact = sum_of_lanes(joined<kDigits>(sums));
    const std::int32_t sum = (exact + (1 << (axis.bits - 1))) >> axis.bits;
    target[x] = static_cast<std::uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
  }
}

template <int kDigits>
void horizontal_of(Rows out, ConstRows in, std::int32_t rows, const Axis& axis, const std::uint8_t* packed) {
  const Header header = *reinterpret_cast<const Header*>(packed);
  packed += kVector;
  if (header.long_taps != 0) {
    for (std::int32_t y = 0; y < rows; ++y) {
      long_row<kDigits>(out.data + y * out.stride, in.data + y * in.stride, axis, packed, header.chunks);
    }
    return;
  }
  // Enough rows to pay for loading the weights, few enough for their pixels to stay in the first-level cache.
  constexpr std::int32_t kBlock = 16;
  const Scale scale = scale_of(axis);
  for (std::int32_t y = 0; y < rows; y += kBlock) {
    const std::uint8_t* group = packed;
    for (std::int32_t x = 0; x < axis.out; x += kLanes, group += group_size(axis)) {
      any_block<kDigits>({out.data + y * out.stride + x, out.stride}, {in.data + y * in.stride, in.stride},
                         smaller(kBlock, rows - y), group, smaller(kLanes, axis.out - x), scale);
    }
  }
}

void horizontal(Rows out, ConstRows in, std::int32_t rows, const Axis& axis, const std::uint8_t* packed) {
  return axis.narrow() ? horizontal_of<1>(out, in, rows, axis, packed) : horizontal_of<2>(out, in, rows, axis, packed);
}

/// 32 columns of one output row; the digits of tap t at digits[t], and `pitch` numbers on.
template <int kDigits>
__m256i columns(const std::uint8_t* source, std::ptrdiff_t stride, std::int32_t taps, const std::int16_t* digits,
                std::ptrdiff_t pitch, const Scale& scale) {
  const __m256i zero = _mm256_setzero_si256();
  __m256i sums[4][kDigits]{{scale.half}, {scale.half}, {scale.half}, {scale.half}};
  for (std::int32_t t = 0; t < taps; t += 2) {
    const auto* first = reinterpret_cast<const __m256i*>(source + t * stride);
    const auto* second = reinterpret_cast<const __m256i*>(source + smaller(t + 1, taps - 1) * stride);
    const __m256i r0 = _mm256_loadu_si256(first), r1 = _mm256_loadu_si256(second);
    const __m256i left = _mm256_unpacklo_epi8(r0, r1), right = _mm256_unpackhi_epi8(r0, r1);
    const __m256i pairs[4]{_mm256_unpacklo_epi8(left, zero), _mm256_unpackhi_epi8(left, zero),
                           _mm256_unpacklo_epi8(right, zero), _mm256_unpackhi_epi8(right, zero)};
    for (int d = 0; d < kDigits; ++d) {
      std::int32_t pair;
      __builtin_memcpy(&pair, digits + d * pitch + t, 4);
      const __m256i weights = _mm256_set1_epi32(pair);
      for (int k = 0; k < 4; ++k) sums[k][d] = _mm256_add_epi32(sums[k][d], _mm256_madd_epi16(pairs[k], weights));
    }
  }
  __m256i made[4];
  for (int k = 0; k < 4; ++k) made[k] = _mm256_sra_epi32(joined<kDigits>(sums[k]), scale.bits);
  // Packing undoes the order of the unpacking, and its saturation is the clipping.
  return _mm256_packus_epi16(_mm256_packs_epi32(made[0], made[1]), _mm256_packs_epi32(made[2], made[3]));
}

template <int kDigits>
void vertical_of(Rows out, ConstRows in, std::int32_t width, const Axis& axis, const std::uint8_t* packed) {
  const Scale scale = scale_of(axis);
  const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(axis.out) * axis.stride;
  for (std::int32_t y = 0; y < axis.out; ++y) {
    const std::uint8_t* source = in.data + axis.first[y] * in.stride;
    std::uint8_t* target = out.data + y * out.stride;
    const auto* digits = reinterpret_cast<const std::int16_t*>(packed) + static_cast<std::ptrdiff_t>(y) * axis.stride;
    for (std::int32_t x = 0; x < width; x += 32) {
      const __m256i bytes = columns<kDigits>(source + x, in.stride, axis.count[y], digits, n, scale);
      if (width - x >= 32) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(target + x), bytes);
      } else {
        __builtin_memcpy(target + x, &bytes, static_cast<std::size_t>(width - x));
      }
    }
  }
}

void vertical(Rows out, ConstRows in, std::int32_t width, const Axis& axis, const std::uint8_t* packed) {
  return axis.narrow() ? vertical_of<1>(out, in, width, axis, packed) : vertical_of<2>(out, in, width, axis, packed);
}

}  // namespace

const ResizeKernels kResizeAvx2{packed_size, pack, horizontal, vertical};

}  // namespace drapps::kernel
