// Exact resizing with VNNI.
//
// 1. A weight of 22 fraction bits is a * 2^16 + b * 2^8 + c with signed digits of 8 bits. vpdpbusd sums four products
//    of an unsigned byte and a signed one into 32 bits, so three of them per four taps give the sums of the reference,
//    exactly: by Horner, ((A << 8) + B << 8) + C. The rounding half, 2^21, is 32 * 2^16 and starts the sum of the first
//    digit. Narrow weights have two digits, b and c, and fewer bits.
// 2. The horizontal pass makes 16 outputs at a time. Their taps lie close together: vpermb picks the four bytes of
//    every output from one window of 64 source bytes (two windows where they span more). The next four taps are picked
//    by the same indices from a window four bytes on. Weights stay in registers for a block of rows.
// 3. Where 16 outputs span more than two windows (shrinking by 8 and more) an output has many taps, and the taps
//    themselves fill the vectors.
// 4. The vertical pass interleaves four rows byte by byte, so that the four taps of one column stand together.
#include "drapps/kernel/avx512.h"

#include "drapps/kernel/resize_kernels.h"

namespace drapps::kernel {
namespace {

constexpr std::int32_t kLanes = 16;  // outputs per group
constexpr std::ptrdiff_t kVector = 64;

std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }

/// How the horizontal pass reads its sources; one for the whole plan, at the start of `packed`.
enum class Shape : std::int32_t { kOneWindow, kTwoWindows, kLongTaps };

struct alignas(64) PackedHeader {
  Shape shape;
  std::int32_t chunks;  // of 64 taps, for kLongTaps
};

std::int32_t digits_of(const Axis& axis) { return axis.narrow() ? 2 : 3; }

/// What sums begin with, and the bits that they are shifted by in the end.
struct SumScale {
  __m512i half;  // rounds, in the first digit
  __m128i bits;
};

SumScale scale_of(const Axis& axis) {
  return {_mm512_set1_epi32(1 << (axis.bits - 1 - 8 * (digits_of(axis) - 1))), _mm_cvtsi32_si128(axis.bits)};
}

/// 16 outputs: the group's index vector follows, then a vector of each digit per chunk of four taps.
struct alignas(64) OutputGroup {
  std::int32_t base;            // source pixel at which the first window starts
  std::int32_t chunks;          // of four taps
  std::uint64_t second_window;  // bytes of it that are needed: no others may be read
};

std::ptrdiff_t group_size(const Axis& axis) {
  return kVector * (2 + digits_of(axis) * std::ptrdiff_t{axis.stride / 4});
}
std::int32_t long_chunks(std::int32_t stride) { return (stride + 63) / 64; }
std::int32_t groups_of(const Axis& axis) { return (axis.out + kLanes - 1) / kLanes; }

Shape shape_of(const Axis& axis) {
  std::int32_t widest = 0;
  for (std::int32_t x = 0; x < axis.out; x += kLanes) {
    const std::int32_t span = axis.first[smaller(x + kLanes, axis.out) - 1] + 4 - axis.first[x];
    widest = span > widest ? span : widest;
  }
  return widest <= 64 ? Shape::kOneWindow : widest <= 128 ? Shape::kTwoWindows : Shape::kLongTaps;
}

/// The digits of 16 weights, as bytes, the lowest first: the third is 0 for narrow ones.
struct DigitVectors {
  __m128i of[3];
};

DigitVectors split(__m512i w, std::int32_t bits) {
  w = _mm512_sra_epi32(w, _mm_cvtsi32_si128(kWeightBits - bits));
  DigitVectors digits;
  for (__m128i& digit : digits.of) {
    const __m512i low = _mm512_srai_epi32(_mm512_slli_epi32(w, 24), 24);
    digit = _mm512_cvtepi32_epi8(low);
    w = _mm512_srai_epi32(_mm512_sub_epi32(w, low), 8);
  }
  return digits;
}

/// Writes the digits of `n` weights: a list of the highest, of the next, …, each `pitch` bytes after the one before.
void split_all(std::uint8_t* out, std::ptrdiff_t pitch, const Axis& axis, const std::int32_t* weights,
               std::ptrdiff_t n) {
  const std::int32_t count = digits_of(axis);
  for (std::ptrdiff_t i = 0; i < n; i += 16) {
    const auto mask = static_cast<__mmask16>(n - i >= 16 ? 0xFFFF : (1U << (n - i)) - 1);
    const DigitVectors digits = split(_mm512_maskz_loadu_epi32(mask, weights + i), axis.bits);
    for (std::int32_t d = 0; d < count; ++d) _mm_mask_storeu_epi8(out + d * pitch + i, mask, digits.of[count - 1 - d]);
  }
}

__m128i four_weights(const Axis& axis, std::int32_t x, std::int32_t tap) {
  if (x >= axis.out) return _mm_setzero_si128();
  return _mm_loadu_si128(
      reinterpret_cast<const __m128i*>(axis.weights + static_cast<std::ptrdiff_t>(x) * axis.stride + tap));
}

void pack_group(std::uint8_t* packed, const Axis& axis, std::int32_t x0) {
  auto* group = reinterpret_cast<OutputGroup*>(packed);
  std::uint8_t* index = packed + kVector;
  std::uint8_t* digits = index + kVector;
  const std::int32_t base = axis.first[x0];
  const std::int32_t last = smaller(x0 + kLanes, axis.out) - 1;
  std::int32_t taps = 0;
  for (std::int32_t i = 0; i < kLanes; ++i) {
    const std::int32_t x = smaller(x0 + i, last);
    const std::uint32_t four = static_cast<std::uint32_t>(axis.first[x] - base) * 0x01010101U + 0x03020100U;
    __builtin_memcpy(index + 4 * i, &four, 4);
    taps = axis.count[x] > taps ? axis.count[x] : taps;
  }
  const std::int32_t beyond = axis.first[last] + 4 - base - 64;
  group->base = base;
  group->chunks = (taps + 3) / 4;
  group->second_window = beyond <= 0 ? 0 : ~std::uint64_t{0} >> (64 - beyond);
  const std::int32_t count = digits_of(axis);
  for (std::int32_t j = 0; j < group->chunks; ++j, digits += count * kVector) {
    for (std::int32_t i = 0; i < kLanes; i += 4) {
      __m512i w = _mm512_castsi128_si512(four_weights(axis, x0 + i, 4 * j));
      w = _mm512_inserti32x4(w, four_weights(axis, x0 + i + 1, 4 * j), 1);
      w = _mm512_inserti32x4(w, four_weights(axis, x0 + i + 2, 4 * j), 2);
      w = _mm512_inserti32x4(w, four_weights(axis, x0 + i + 3, 4 * j), 3);
      const DigitVectors vectors = split(w, axis.bits);
      for (std::int32_t d = 0; d < count; ++d) {
        _mm_store_si128(reinterpret_cast<__m128i*>(digits + d * kVector + 4 * i), vectors.of[count - 1 - d]);
      }
    }
  }
}

/// The bytes from one digit list of the vertical pass to the next: a multiple of a vector.
std::ptrdiff_t vertical_pitch(const Axis& axis) {
  return (static_cast<std::ptrdiff_t>(axis.out) * axis.stride + kVector - 1) / kVector * kVector;
}

std::size_t packed_size(const Axis& axis, ResizePass pass) {
  if (pass == ResizePass::kVertical) return static_cast<std::size_t>(digits_of(axis) * vertical_pitch(axis));
  const std::ptrdiff_t groups = groups_of(axis) * group_size(axis);
  const std::ptrdiff_t longs = axis.out * digits_of(axis) * kVector * long_chunks(axis.stride);
  return static_cast<std::size_t>(kVector + (shape_of(axis) == Shape::kLongTaps ? longs : groups));
}

void pack(std::uint8_t* packed, const Axis& axis, ResizePass pass) {
  if (pass == ResizePass::kVertical) {
    const std::ptrdiff_t n = static_cast<std::ptrdiff_t>(axis.out) * axis.stride;
    return split_all(packed, vertical_pitch(axis), axis, axis.weights, n);
  }
  auto* header = reinterpret_cast<PackedHeader*>(packed);
  header->shape = shape_of(axis);
  header->chunks = long_chunks(axis.stride);
  packed += kVector;
  if (header->shape != Shape::kLongTaps) {
    for (std::int32_t x = 0; x < axis.out; x += kLanes, packed += group_size(axis)) pack_group(packed, axis, x);
    return;
  }
  for (std::int32_t x = 0; x < axis.out; ++x) {
    const std::int32_t* w = axis.weights + static_cast<std::ptrdiff_t>(x) * axis.stride;
    const std::ptrdiff_t size = digits_of(axis) * kVector;
    for (std::int32_t t = 0; t < 64 * header->chunks; t += 64, packed += size) {
      __builtin_memset(packed, 0, static_cast<std::size_t>(size));
      split_all(packed, kVector, axis, w + t, smaller(64, axis.stride - t));
    }
  }
}

__m512i clipped(__m512i sum, const SumScale& scale) {
  return _mm512_max_epi32(_mm512_sra_epi32(sum, scale.bits), _mm512_setzero_si512());
}

/// Horner's rule over the sums of the digits.
template <int kDigits>
__m512i joined(const __m512i sums[kDigits]) {
  __m512i sum = sums[0];
  for (int d = 1; d < kDigits; ++d) sum = _mm512_add_epi32(_mm512_slli_epi32(sum, 8), sums[d]);
  return sum;
}

template <bool kTwoWindows>
__m512i window(const std::uint8_t* source, __m512i index, std::uint64_t second) {
  const __m512i near = _mm512_loadu_si512(source);
  if constexpr (!kTwoWindows) return _mm512_permutexvar_epi8(index, near);
  return _mm512_permutex2var_epi8(near, index, _mm512_maskz_loadu_epi8(second, source + kVector));
}

/// One group in a block of rows, with its weights in registers.
template <int kDigits, bool kTwoWindows, int kChunks>
void block(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const std::uint8_t* packed, __mmask16 lanes,
           const SumScale& scale) {
  const std::uint64_t second = reinterpret_cast<const OutputGroup*>(packed)->second_window;
  const __m512i index = _mm512_load_si512(packed + kVector);
  __m512i digits[kDigits][kChunks];
  for (int j = 0; j < kChunks; ++j) {
    for (int d = 0; d < kDigits; ++d) digits[d][j] = _mm512_load_si512(packed + (2 + kDigits * j + d) * kVector);
  }
  const __m512i half = scale.half;
  std::uint8_t* target = out.data;
  const std::uint8_t* source = in.data;
  for (std::int32_t y = 0; y < rows; ++y, target += out.stride, source += in.stride) {
    __m512i taps[kChunks];
    for (int j = 0; j < kChunks; ++j) taps[j] = window<kTwoWindows>(source + 4 * j, index, second);
    __m512i sum = half;
    for (int d = 0; d < kDigits; ++d) {
      if (d > 0) sum = _mm512_slli_epi32(sum, 8);
      for (int j = 0; j < kChunks; ++j) sum = _mm512_dpbusd_epi32(sum, taps[j], digits[d][j]);
    }
    const __m128i bytes = _mm512_cvtusepi32_epi8(clipped(sum, scale));
    if (lanes == 0xFFFF) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(target), bytes);
    } else {
      _mm_mask_storeu_epi8(target, lanes, bytes);
    }
  }
}

/// One group in a block of rows, for any number of chunks.
template <int kDigits, bool kTwoWindows>
void wide_block(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const std::uint8_t* packed, __mmask16 lanes,
                const SumScale& scale) {
  const auto* group = reinterpret_cast<const OutputGroup*>(packed);
  const __m512i index = _mm512_load_si512(packed + kVector);
  for (std::int32_t y = 0; y < rows; ++y) {
    const std::uint8_t* digits = packed + 2 * kVector;
    __m512i sums[kDigits]{scale.half};
    for (std::int32_t j = 0; j < group->chunks; ++j, digits += kDigits * kVector) {
      const __m512i taps = window<kTwoWindows>(in.data + y * in.stride + 4 * j, index, group->second_window);
      for (int d = 0; d < kDigits; ++d) {
        sums[d] = _mm512_dpbusd_epi32(sums[d], taps, _mm512_load_si512(digits + d * kVector));
      }
    }
    const __m512i sum = clipped(joined<kDigits>(sums), scale);
    _mm_mask_storeu_epi8(out.data + y * out.stride, lanes, _mm512_cvtusepi32_epi8(sum));
  }
}

template <int kDigits, bool kTwoWindows>
void any_block(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const std::uint8_t* packed, __mmask16 lanes,
               const SumScale& scale) {
  switch (reinterpret_cast<const OutputGroup*>(packed)->chunks) {
    case 1: return block<kDigits, kTwoWindows, 1>(out, in, rows, packed, lanes, scale);
    case 2: return block<kDigits, kTwoWindows, 2>(out, in, rows, packed, lanes, scale);
    case 3: return block<kDigits, kTwoWindows, 3>(out, in, rows, packed, lanes, scale);
    default: return wide_block<kDigits, kTwoWindows>(out, in, rows, packed, lanes, scale);
  }
}

/// One row of outputs whose taps fill vectors.
template <int kDigits>
void long_row(std::uint8_t* target, const std::uint8_t* source, const Axis& axis, const std::uint8_t* packed,
              std::int32_t chunks) {
  for (std::int32_t x = 0; x < axis.out; ++x) {
    const std::uint8_t* taps = source + axis.first[x];
    __m512i sums[kDigits]{};
    for (std::int32_t j = 0; j < chunks; ++j, packed += kDigits * kVector) {
      const std::int32_t left = axis.count[x] - 64 * j;
      const std::uint64_t mask = left >= 64 ? ~std::uint64_t{0} : left <= 0 ? 0 : (std::uint64_t{1} << left) - 1;
      const __m512i bytes = _mm512_maskz_loadu_epi8(mask, taps + 64 * j);
      for (int d = 0; d < kDigits; ++d) {
        sums[d] = _mm512_dpbusd_epi32(sums[d], bytes, _mm512_load_si512(packed + d * kVector));
      }
    }
    const std::int32_t exact = _mm512_reduce_add_epi32(joined<kDigits>(sums));
    const std::int32_t sum = (exact + (1 << (axis.bits - 1))) >> axis.bits;
    target[x] = static_cast<std::uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
  }
}

template <int kDigits>
void horizontal_of(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const Axis& axis, const std::uint8_t* packed) {
  const PackedHeader header = *reinterpret_cast<const PackedHeader*>(packed);
  packed += kVector;
  if (header.shape == Shape::kLongTaps) {
    for (std::int32_t y = 0; y < rows; ++y) {
      long_row<kDigits>(out.data + y * out.stride, in.data + y * in.stride, axis, packed, header.chunks);
    }
    return;
  }
  // Enough rows to pay for loading the weights, few enough for their pixels to stay in the first-level cache.
  constexpr std::int32_t kBlock = 16;
  const auto run = header.shape == Shape::kOneWindow ? any_block<kDigits, false> : any_block<kDigits, true>;
  const SumScale scale = scale_of(axis);
  for (std::int32_t y = 0; y < rows; y += kBlock) {
    const std::uint8_t* group = packed;
    for (std::int32_t x = 0; x < axis.out; x += kLanes, group += group_size(axis)) {
      const std::int32_t lanes = smaller(kLanes, axis.out - x);
      run({out.data + y * out.stride + x, out.stride},
          {in.data + y * in.stride + reinterpret_cast<const OutputGroup*>(group)->base, in.stride},
          smaller(kBlock, rows - y), group, static_cast<__mmask16>((1U << lanes) - 1), scale);
    }
  }
}

void horizontal(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const Axis& axis, const std::uint8_t* packed) {
  return axis.narrow() ? horizontal_of<2>(out, in, rows, axis, packed) : horizontal_of<3>(out, in, rows, axis, packed);
}

/// Four rows of 64 bytes, turned: the bytes of a column stand together, 4 x 16 columns in the order packing undoes.
struct Columns {
  __m512i of[4];
};

Columns columns_of(const std::uint8_t* r0, const std::uint8_t* r1, const std::uint8_t* r2, const std::uint8_t* r3) {
  const __m512i v0 = _mm512_loadu_si512(r0), v1 = _mm512_loadu_si512(r1);
  const __m512i v2 = _mm512_loadu_si512(r2), v3 = _mm512_loadu_si512(r3);
  const __m512i low01 = _mm512_unpacklo_epi8(v0, v1), high01 = _mm512_unpackhi_epi8(v0, v1);
  const __m512i low23 = _mm512_unpacklo_epi8(v2, v3), high23 = _mm512_unpackhi_epi8(v2, v3);
  return {{_mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
           _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)}};
}

__m512i packed_bytes(const __m512i sum[4], const SumScale& scale) {  // packing saturates, which is the clipping
  const __m512i low = _mm512_packs_epi32(_mm512_sra_epi32(sum[0], scale.bits), _mm512_sra_epi32(sum[1], scale.bits));
  const __m512i high = _mm512_packs_epi32(_mm512_sra_epi32(sum[2], scale.bits), _mm512_sra_epi32(sum[3], scale.bits));
  return _mm512_packus_epi16(low, high);
}

__m512i four_digits(const std::uint8_t* digits) {
  std::int32_t four;
  __builtin_memcpy(&four, digits, 4);
  return _mm512_set1_epi32(four);
}

void store(std::uint8_t* target, __m512i bytes, std::int32_t left) {
  if (left >= 64) {
    _mm512_storeu_si512(target, bytes);
  } else {
    _mm512_mask_storeu_epi8(target, (std::uint64_t{1} << left) - 1, bytes);
  }
}

/// One output row of up to four taps: `rows` are their sources; the digits of tap t are at digits + t, + pitch, ….
template <int kDigits>
void short_column(std::uint8_t* target, const std::uint8_t* const rows[4], std::int32_t width,
                  const std::uint8_t* digits, std::ptrdiff_t pitch, const SumScale& scale) {
  __m512i of[kDigits];
  for (int d = 0; d < kDigits; ++d) of[d] = four_digits(digits + d * pitch);
  for (std::int32_t x = 0; x < width; x += 64) {
    const Columns columns = columns_of(rows[0] + x, rows[1] + x, rows[2] + x, rows[3] + x);
    __m512i sum[4];
    for (int k = 0; k < 4; ++k) {
      sum[k] = _mm512_dpbusd_epi32(scale.half, columns.of[k], of[0]);
      for (int d = 1; d < kDigits; ++d) {
        sum[k] = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum[k], 8), columns.of[k], of[d]);
      }
    }
    store(target + x, packed_bytes(sum, scale), width - x);
  }
}

/// One output row of any number of taps, the first at `source`.
template <int kDigits>
void long_column(std::uint8_t* target, ConstPlaneRows source, std::int32_t taps, std::int32_t width,
                 const std::uint8_t* digits, std::ptrdiff_t pitch, const SumScale& scale) {
  for (std::int32_t x = 0; x < width; x += 64) {
    __m512i sums[4][kDigits]{{scale.half}, {scale.half}, {scale.half}, {scale.half}};
    for (std::int32_t t = 0; t < taps; t += 4) {
      const std::uint8_t* row[4];
      for (std::int32_t k = 0; k < 4; ++k) row[k] = source.data + smaller(t + k, taps - 1) * source.stride + x;
      const Columns columns = columns_of(row[0], row[1], row[2], row[3]);
      for (int d = 0; d < kDigits; ++d) {
        const __m512i of = four_digits(digits + d * pitch + t);
        for (int k = 0; k < 4; ++k) sums[k][d] = _mm512_dpbusd_epi32(sums[k][d], columns.of[k], of);
      }
    }
    __m512i sum[4];
    for (int k = 0; k < 4; ++k) sum[k] = joined<kDigits>(sums[k]);
    store(target + x, packed_bytes(sum, scale), width - x);
  }
}

template <int kDigits>
void vertical_of(PlaneRows out, ConstPlaneRows in, std::int32_t width, const Axis& axis, const std::uint8_t* packed) {
  const std::ptrdiff_t pitch = vertical_pitch(axis);
  const SumScale scale = scale_of(axis);
  for (std::int32_t y = 0; y < axis.out; ++y) {
    std::uint8_t* target = out.data + y * out.stride;
    const ConstPlaneRows source{in.data + axis.first[y] * in.stride, in.stride};
    const std::uint8_t* digits = packed + static_cast<std::ptrdiff_t>(y) * axis.stride;
    const std::int32_t taps = axis.count[y];
    if (taps > 4) {
      long_column<kDigits>(target, source, taps, width, digits, pitch, scale);
      continue;
    }
    const std::uint8_t* rows[4];
    for (std::int32_t t = 0; t < 4; ++t) rows[t] = source.data + smaller(t, taps - 1) * source.stride;
    short_column<kDigits>(target, rows, width, digits, pitch, scale);
  }
  // The compiler leaves this out where vectors are arguments; plain code behind it would run at a third of its speed.
  _mm256_zeroupper();
}

void vertical(PlaneRows out, ConstPlaneRows in, std::int32_t width, const Axis& axis, const std::uint8_t* packed) {
  return axis.narrow() ? vertical_of<2>(out, in, width, axis, packed) : vertical_of<3>(out, in, width, axis, packed);
}

}  // namespace

const ResizeKernels kResizeAvx512Vbmi{packed_size, pack, horizontal, vertical};

}  // namespace drapps::kernel
