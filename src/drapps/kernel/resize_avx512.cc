// Exact resizing with VNNI.
//
// 1. A weight of 22 fraction bits is a * 2^16 + b * 2^8 + c with signed digits of 8 bits. vpdpbusd sums four
//    products of an unsigned byte and a signed one into 32 bits, so three of them per four taps give the
//    sums of the reference, exactly: by Horner, ((A << 8) + B << 8) + C. The rounding half, 2^21, is
//    32 * 2^16 and starts the sum of the first digit.
// 2. The horizontal pass makes 16 outputs at a time. Their taps lie close together: vpermb picks the four
//    bytes of every output from one window of 64 source bytes (two windows where they span more). The
//    next four taps are picked by the same indices from a window four bytes on. Weights stay in
//    registers for a block of rows.
// 3. Where 16 outputs span more than two windows (shrinking by 8 and more) an output has many taps, and the taps
//    themselves fill the vectors.
// 4. The vertical pass interleaves four rows byte by byte, so that the four taps of one column stand together.
#include "drapps/kernel/avx512.h"

#include "drapps/kernel/resize_kernels.h"

namespace drapps::kernel {
namespace {

constexpr std::int32_t kLanes = 16;  // outputs per group
constexpr std::int32_t kHalfDigit = 1 << (kWeightBits - 1 - 16);
constexpr std::ptrdiff_t kVector = 64;

std::int32_t smaller(std::int32_t a, std::int32_t b) { return a < b ? a : b; }

/// How the horizontal pass reads its sources; one for the whole plan, at the start of `packed`.
enum class Shape : std::int32_t { kOneWindow, kTwoWindows, kLongTaps };

struct alignas(64) Header {
  Shape shape;
  std::int32_t chunks;  // of 64 taps, for kLongTaps
};

/// 16 outputs: the group's index vector follows, then three digit vectors per chunk of four taps.
struct alignas(64) Group {
  std::int32_t base;            // source pixel at which the first window starts
  std::int32_t chunks;          // of four taps
  std::uint64_t second_window;  // bytes of it that are needed: no others may be read
};

std::ptrdiff_t group_size(std::int32_t stride) { return kVector * (2 + 3 * std::ptrdiff_t{stride / 4}); }
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

/// The digits of `lanes` weights, as bytes.
struct Digits {
  __m128i a, b, c;
};

Digits digits_of(__m512i w) {
  const __m512i c = _mm512_srai_epi32(_mm512_slli_epi32(w, 24), 24);
  const __m512i rest = _mm512_srai_epi32(_mm512_sub_epi32(w, c), 8);
  const __m512i b = _mm512_srai_epi32(_mm512_slli_epi32(rest, 24), 24);
  const __m512i a = _mm512_srai_epi32(_mm512_sub_epi32(rest, b), 8);
  return {_mm512_cvtepi32_epi8(a), _mm512_cvtepi32_epi8(b), _mm512_cvtepi32_epi8(c)};
}

/// Writes the digits of `n` weights, a[n], b[n], c[n], each list `pitch` bytes after the one before.
void split(std::uint8_t* out, std::ptrdiff_t pitch, const std::int32_t* weights, std::ptrdiff_t n) {
  for (std::ptrdiff_t i = 0; i < n; i += 16) {
    const auto mask = static_cast<__mmask16>(n - i >= 16 ? 0xFFFF : (1U << (n - i)) - 1);
    const Digits digits = digits_of(_mm512_maskz_loadu_epi32(mask, weights + i));
    _mm_mask_storeu_epi8(out + i, mask, digits.a);
    _mm_mask_storeu_epi8(out + pitch + i, mask, digits.b);
    _mm_mask_storeu_epi8(out + 2 * pitch + i, mask, digits.c);
  }
}

__m128i four_weights(const Axis& axis, std::int32_t x, std::int32_t tap) {
  if (x >= axis.out) return _mm_setzero_si128();
  return _mm_loadu_si128(
      reinterpret_cast<const __m128i*>(axis.weights + static_cast<std::ptrdiff_t>(x) * axis.stride + tap));
}

void pack_group(std::uint8_t* packed, const Axis& axis, std::int32_t x0) {
  auto* group = reinterpret_cast<Group*>(packed);
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
  for (std::int32_t j = 0; j < group->chunks; ++j, digits += 3 * kVector) {
    for (std::int32_t i = 0; i < kLanes; i += 4) {
      __m512i w = _mm512_castsi128_si512(four_weights(axis, x0 + i, 4 * j));
      w = _mm512_inserti32x4(w, four_weights(axis, x0 + i + 1, 4 * j), 1);
      w = _mm512_inserti32x4(w, four_weights(axis, x0 + i + 2, 4 * j), 2);
      w = _mm512_inserti32x4(w, four_weights(axis, x0 + i + 3, 4 * j), 3);
      const Digits of = digits_of(w);
      _mm_store_si128(reinterpret_cast<__m128i*>(digits + 4 * i), of.a);
      _mm_store_si128(reinterpret_cast<__m128i*>(digits + kVector + 4 * i), of.b);
      _mm_store_si128(reinterpret_cast<__m128i*>(digits + 2 * kVector + 4 * i), of.c);
    }
  }
}

/// Rows of the digit lists of the vertical pass, a multiple of a vector apart.
std::ptrdiff_t vertical_pitch(const Axis& axis) {
  return (static_cast<std::ptrdiff_t>(axis.out) * axis.stride + kVector - 1) / kVector * kVector;
}

std::size_t packed_size(const Axis& axis, Pass pass) {
  if (pass == Pass::kVertical) return static_cast<std::size_t>(3 * vertical_pitch(axis));
  const std::ptrdiff_t groups = groups_of(axis) * group_size(axis.stride);
  const std::ptrdiff_t longs = axis.out * 3 * kVector * long_chunks(axis.stride);
  return static_cast<std::size_t>(kVector + (shape_of(axis) == Shape::kLongTaps ? longs : groups));
}

void pack(std::uint8_t* packed, const Axis& axis, Pass pass) {
  if (pass == Pass::kVertical) {
    return split(packed, vertical_pitch(axis), axis.weights, static_cast<std::ptrdiff_t>(axis.out) * axis.stride);
  }
  auto* header = reinterpret_cast<Header*>(packed);
  header->shape = shape_of(axis);
  header->chunks = long_chunks(axis.stride);
  packed += kVector;
  if (header->shape != Shape::kLongTaps) {
    for (std::int32_t x = 0; x < axis.out; x += kLanes, packed += group_size(axis.stride)) pack_group(packed, axis, x);
    return;
  }
  for (std::int32_t x = 0; x < axis.out; ++x) {
    const std::int32_t* w = axis.weights + static_cast<std::ptrdiff_t>(x) * axis.stride;
    for (std::int32_t t = 0; t < 64 * header->chunks; t += 64, packed += 3 * kVector) {
      __builtin_memset(packed, 0, 3 * kVector);
      split(packed, kVector, w + t, smaller(64, axis.stride - t));
    }
  }
}

__m512i clipped(__m512i sum) { return _mm512_max_epi32(_mm512_srai_epi32(sum, kWeightBits), _mm512_setzero_si512()); }

template <bool kTwoWindows>
__m512i window(const std::uint8_t* source, __m512i index, std::uint64_t second) {
  const __m512i near = _mm512_loadu_si512(source);
  if constexpr (!kTwoWindows) return _mm512_permutexvar_epi8(index, near);
  return _mm512_permutex2var_epi8(near, index, _mm512_maskz_loadu_epi8(second, source + kVector));
}

/// One group in a block of rows, with its weights in registers.
template <int kChunks, bool kTwoWindows>
void block(std::uint8_t* target, std::ptrdiff_t target_stride, const std::uint8_t* source, std::ptrdiff_t source_stride,
           std::int32_t rows, const std::uint8_t* packed, __mmask16 lanes) {
  const std::uint64_t second = reinterpret_cast<const Group*>(packed)->second_window;
  const __m512i index = _mm512_load_si512(packed + kVector);
  const std::uint8_t* digits = packed + 2 * kVector;
  __m512i a[kChunks], b[kChunks], c[kChunks];
  for (int j = 0; j < kChunks; ++j) {
    a[j] = _mm512_load_si512(digits + (3 * j) * kVector);
    b[j] = _mm512_load_si512(digits + (3 * j + 1) * kVector);
    c[j] = _mm512_load_si512(digits + (3 * j + 2) * kVector);
  }
  for (std::int32_t y = 0; y < rows; ++y, target += target_stride, source += source_stride) {
    __m512i taps[kChunks];
    for (int j = 0; j < kChunks; ++j) taps[j] = window<kTwoWindows>(source + 4 * j, index, second);
    __m512i sum = _mm512_set1_epi32(kHalfDigit);
    for (int j = 0; j < kChunks; ++j) sum = _mm512_dpbusd_epi32(sum, taps[j], a[j]);
    sum = _mm512_slli_epi32(sum, 8);
    for (int j = 0; j < kChunks; ++j) sum = _mm512_dpbusd_epi32(sum, taps[j], b[j]);
    sum = _mm512_slli_epi32(sum, 8);
    for (int j = 0; j < kChunks; ++j) sum = _mm512_dpbusd_epi32(sum, taps[j], c[j]);
    const __m128i bytes = _mm512_cvtusepi32_epi8(clipped(sum));
    if (lanes == 0xFFFF) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(target), bytes);
    } else {
      _mm_mask_storeu_epi8(target, lanes, bytes);
    }
  }
}

/// The same for any number of chunks.
template <bool kTwoWindows>
void wide_block(std::uint8_t* target, std::ptrdiff_t target_stride, const std::uint8_t* source,
                std::ptrdiff_t source_stride, std::int32_t rows, const std::uint8_t* packed, __mmask16 lanes) {
  const auto* group = reinterpret_cast<const Group*>(packed);
  const __m512i index = _mm512_load_si512(packed + kVector);
  for (std::int32_t y = 0; y < rows; ++y, target += target_stride, source += source_stride) {
    const std::uint8_t* digits = packed + 2 * kVector;
    __m512i a = _mm512_set1_epi32(kHalfDigit), b = _mm512_setzero_si512(), c = b;
    for (std::int32_t j = 0; j < group->chunks; ++j, digits += 3 * kVector) {
      const __m512i taps = window<kTwoWindows>(source + 4 * j, index, group->second_window);
      a = _mm512_dpbusd_epi32(a, taps, _mm512_load_si512(digits));
      b = _mm512_dpbusd_epi32(b, taps, _mm512_load_si512(digits + kVector));
      c = _mm512_dpbusd_epi32(c, taps, _mm512_load_si512(digits + 2 * kVector));
    }
    b = _mm512_add_epi32(_mm512_slli_epi32(a, 8), b);
    c = _mm512_add_epi32(_mm512_slli_epi32(b, 8), c);
    _mm_mask_storeu_epi8(target, lanes, _mm512_cvtusepi32_epi8(clipped(c)));
  }
}

template <bool kTwoWindows>
void any_block(std::uint8_t* target, std::ptrdiff_t target_stride, const std::uint8_t* source,
               std::ptrdiff_t source_stride, std::int32_t rows, const std::uint8_t* packed, __mmask16 lanes) {
  switch (reinterpret_cast<const Group*>(packed)->chunks) {
    case 1: return block<1, kTwoWindows>(target, target_stride, source, source_stride, rows, packed, lanes);
    case 2: return block<2, kTwoWindows>(target, target_stride, source, source_stride, rows, packed, lanes);
    case 3: return block<3, kTwoWindows>(target, target_stride, source, source_stride, rows, packed, lanes);
    default: return wide_block<kTwoWindows>(target, target_stride, source, source_stride, rows, packed, lanes);
  }
}

/// One row of outputs whose taps fill vectors.
void long_row(std::uint8_t* target, const std::uint8_t* source, const Axis& axis, const std::uint8_t* packed,
              std::int32_t chunks) {
  for (std::int32_t x = 0; x < axis.out; ++x) {
    const std::uint8_t* taps = source + axis.first[x];
    __m512i a = _mm512_setzero_si512(), b = a, c = a;
    for (std::int32_t j = 0; j < chunks; ++j, packed += 3 * kVector) {
      const std::int32_t left = axis.count[x] - 64 * j;
      const std::uint64_t mask = left >= 64 ? ~std::uint64_t{0} : left <= 0 ? 0 : (std::uint64_t{1} << left) - 1;
      const __m512i bytes = _mm512_maskz_loadu_epi8(mask, taps + 64 * j);
      a = _mm512_dpbusd_epi32(a, bytes, _mm512_load_si512(packed));
      b = _mm512_dpbusd_epi32(b, bytes, _mm512_load_si512(packed + kVector));
      c = _mm512_dpbusd_epi32(c, bytes, _mm512_load_si512(packed + 2 * kVector));
    }
    b = _mm512_add_epi32(_mm512_slli_epi32(a, 8), b);
    c = _mm512_add_epi32(_mm512_slli_epi32(b, 8), c);
    const std::int32_t sum = (_mm512_reduce_add_epi32(c) + (1 << (kWeightBits - 1))) >> kWeightBits;
    target[x] = static_cast<std::uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
  }
}

void horizontal(Rows out, ConstRows in, std::int32_t rows, const Axis& axis, const std::uint8_t* packed) {
  const Header header = *reinterpret_cast<const Header*>(packed);
  packed += kVector;
  if (header.shape == Shape::kLongTaps) {
    for (std::int32_t y = 0; y < rows; ++y) {
      long_row(out.data + y * out.stride, in.data + y * in.stride, axis, packed, header.chunks);
    }
    return;
  }
  // Enough rows to pay for loading the weights, few enough for their pixels to stay in the first-level cache.
  constexpr std::int32_t kBlock = 16;
  const auto run = header.shape == Shape::kOneWindow ? any_block<false> : any_block<true>;
  for (std::int32_t y = 0; y < rows; y += kBlock) {
    const std::uint8_t* group = packed;
    for (std::int32_t x = 0; x < axis.out; x += kLanes, group += group_size(axis.stride)) {
      const std::int32_t lanes = smaller(kLanes, axis.out - x);
      run(out.data + y * out.stride + x, out.stride,
          in.data + y * in.stride + reinterpret_cast<const Group*>(group)->base, in.stride, smaller(kBlock, rows - y),
          group, static_cast<__mmask16>((1U << lanes) - 1));
    }
  }
}

/// Four rows of 64 bytes, so turned that the bytes of a column stand together: 4 x 16 columns, in the order that
/// packing undoes.
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

__m512i packed_bytes(const __m512i sum[4]) {  // packing saturates, which is the clipping
  const __m512i low =
      _mm512_packs_epi32(_mm512_srai_epi32(sum[0], kWeightBits), _mm512_srai_epi32(sum[1], kWeightBits));
  const __m512i high =
      _mm512_packs_epi32(_mm512_srai_epi32(sum[2], kWeightBits), _mm512_srai_epi32(sum[3], kWeightBits));
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

/// One output row of up to four taps: `rows` are their sources, a, b, c the digits.
void short_column(std::uint8_t* target, const std::uint8_t* const rows[4], std::int32_t width, __m512i a, __m512i b,
                  __m512i c) {
  for (std::int32_t x = 0; x < width; x += 64) {
    const Columns columns = columns_of(rows[0] + x, rows[1] + x, rows[2] + x, rows[3] + x);
    __m512i sum[4];
    for (int k = 0; k < 4; ++k) {
      sum[k] = _mm512_dpbusd_epi32(_mm512_set1_epi32(kHalfDigit), columns.of[k], a);
      sum[k] = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum[k], 8), columns.of[k], b);
      sum[k] = _mm512_dpbusd_epi32(_mm512_slli_epi32(sum[k], 8), columns.of[k], c);
    }
    store(target + x, packed_bytes(sum), width - x);
  }
}

/// One output row of any number of taps, the first at `source`; the digits of tap t are at digits + t, + pitch, + 2 *
/// pitch.
void long_column(std::uint8_t* target, ConstRows source, std::int32_t taps, std::int32_t width,
                 const std::uint8_t* digits, std::ptrdiff_t pitch) {
  for (std::int32_t x = 0; x < width; x += 64) {
    __m512i a[4], b[4], c[4];
    for (int k = 0; k < 4; ++k) {
      a[k] = _mm512_set1_epi32(kHalfDigit);
      b[k] = c[k] = _mm512_setzero_si512();
    }
    for (std::int32_t t = 0; t < taps; t += 4) {
      const std::uint8_t* row[4];
      for (std::int32_t k = 0; k < 4; ++k) row[k] = source.data + smaller(t + k, taps - 1) * source.stride + x;
      const Columns columns = columns_of(row[0], row[1], row[2], row[3]);
      const __m512i da = four_digits(digits + t), db = four_digits(digits + pitch + t);
      const __m512i dc = four_digits(digits + 2 * pitch + t);
      for (int k = 0; k < 4; ++k) {
        a[k] = _mm512_dpbusd_epi32(a[k], columns.of[k], da);
        b[k] = _mm512_dpbusd_epi32(b[k], columns.of[k], db);
        c[k] = _mm512_dpbusd_epi32(c[k], columns.of[k], dc);
      }
    }
    __m512i sum[4];
    for (int k = 0; k < 4; ++k) {
      sum[k] = _mm512_add_epi32(_mm512_slli_epi32(a[k], 8), b[k]);
      sum[k] = _mm512_add_epi32(_mm512_slli_epi32(sum[k], 8), c[k]);
    }
    store(target + x, packed_bytes(sum), width - x);
  }
}

void vertical(Rows out, ConstRows in, std::int32_t width, const Axis& axis, const std::uint8_t* packed) {
  const std::ptrdiff_t pitch = vertical_pitch(axis);
  for (std::int32_t y = 0; y < axis.out; ++y) {
    std::uint8_t* target = out.data + y * out.stride;
    const ConstRows source{in.data + axis.first[y] * in.stride, in.stride};
    const std::uint8_t* digits = packed + static_cast<std::ptrdiff_t>(y) * axis.stride;
    const std::int32_t taps = axis.count[y];
    if (taps > 4) {
      long_column(target, source, taps, width, digits, pitch);
      continue;
    }
    const std::uint8_t* rows[4];
    for (std::int32_t t = 0; t < 4; ++t) rows[t] = source.data + smaller(t, taps - 1) * source.stride;
    short_column(target, rows, width, four_digits(digits), four_digits(digits + pitch),
                 four_digits(digits + 2 * pitch));
  }
  // The compiler leaves this out where vectors are arguments; the plain code that follows would run at a third of its
  // speed.
  _mm256_zeroupper();
}

}  // namespace

const ResizeKernels kResizeAvx512{packed_size, pack, horizontal, vertical};

}  // namespace drapps::kernel
