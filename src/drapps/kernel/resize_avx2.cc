// 16 outputs and 32 columns at a time, and long taps by sixteens.
#include "drapps/kernel/resize_lanes.h"

namespace drapps::kernel {
namespace {

struct ResizeVector256 {
  using Vec = __m256i;

  /// The windows of the two lanes: where they start, for both halves.
  static constexpr std::ptrdiff_t kPlaceBytes = 32;
  /// The first of a lane's four outputs in its group: as packing puts them in order.
  static constexpr std::int32_t output_of(std::int32_t half, std::int32_t lane) { return 8 * lane + 4 * half; }
  /// Notes where the window of a lane starts. @return the source pixel.
  static std::int32_t place(std::uint8_t* places, const Axis& axis, std::int32_t x0, std::int32_t half,
                            std::int32_t lane) {
    const std::int32_t base = axis.first[smaller(x0 + output_of(half, lane), axis.out - 1)];
    reinterpret_cast<std::int32_t*>(places)[2 * half + lane] = base;
    return base;
  }
  struct SourceWindow {
    std::ptrdiff_t low, high;
    SourceWindow(const std::uint8_t* places, std::int32_t half)
        : low(reinterpret_cast<const std::int32_t*>(places)[2 * half]),
          high(reinterpret_cast<const std::int32_t*>(places)[2 * half + 1]) {}
    Vec at(const std::uint8_t* row) const {
      return _mm256_inserti128_si256(_mm256_castsi128_si256(load16(row + low)), load16(row + high), 1);
    }
  };
  /// Bytes of each lane, by the indices in it.
  static Vec pick(Vec bytes, Vec index) { return _mm256_shuffle_epi8(bytes, index); }
  /// Stores the first 8 bytes of each lane.
  static void store_group(std::uint8_t* target, Vec bytes, std::int32_t count) {
    const __m128i ordered = _mm256_castsi256_si128(_mm256_permute4x64_epi64(bytes, 0x08));
    if (count == 16) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(target), ordered);
    } else {
      std::memcpy(target, &ordered, static_cast<std::size_t>(count));
    }
  }
  static void store(std::uint8_t* target, Vec bytes, std::int32_t count) {
    if (count >= 32) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), bytes);
    } else {
      std::memcpy(target, &bytes, static_cast<std::size_t>(count));
    }
  }

  static Vec load(const std::uint8_t* from) { return _mm256_load_si256(reinterpret_cast<const Vec*>(from)); }
  static Vec load_any(const std::uint8_t* from) { return _mm256_loadu_si256(reinterpret_cast<const Vec*>(from)); }
  static Vec repeat32(const std::uint8_t* from) {
    std::int32_t number;
    std::memcpy(&number, from, 4);
    return _mm256_set1_epi32(number);
  }
  static Vec set16(int value) { return _mm256_set1_epi16(static_cast<short>(value)); }
  static Vec set32(int value) { return _mm256_set1_epi32(value); }
  static Vec both_of_bits(Vec a, Vec b) { return _mm256_and_si256(a, b); }
  static Vec add16(Vec a, Vec b) { return _mm256_add_epi16(a, b); }
  static Vec add32(Vec a, Vec b) { return _mm256_add_epi32(a, b); }
  static Vec dot(Vec a, Vec b) { return _mm256_madd_epi16(a, b); }
  /// The products of bytes without a sign and bytes with one, added in pairs.
  static Vec dot_bytes(Vec a, Vec b) { return _mm256_maddubs_epi16(a, b); }
  static Vec dot_rounded(Vec a, Vec b) { return _mm256_mulhrs_epi16(a, b); }
  template <int kBits>
  static Vec shift_left32(Vec v) {
    return _mm256_slli_epi32(v, kBits);
  }
  template <int kBits>
  static Vec shift_right32(Vec v) {
    return _mm256_srai_epi32(v, kBits);
  }
  static Vec shift_right32(Vec v, __m128i bits) { return _mm256_sra_epi32(v, bits); }
  /// Shifts words without a sign.
  template <int kBits>
  static Vec shift_right16(Vec v) {
    return _mm256_srli_epi16(v, kBits);
  }
  static Vec pack32(Vec a, Vec b) { return _mm256_packs_epi32(a, b); }
  static Vec pack16(Vec a, Vec b) { return _mm256_packus_epi16(a, b); }
  static Vec low8(Vec a, Vec b) { return _mm256_unpacklo_epi8(a, b); }
  static Vec high8(Vec a, Vec b) { return _mm256_unpackhi_epi8(a, b); }
  static Vec low16(Vec a, Vec b) { return _mm256_unpacklo_epi16(a, b); }
  static Vec high16(Vec a, Vec b) { return _mm256_unpackhi_epi16(a, b); }
};

using V = ResizeVector256;
using Vec = V::Vec;
using Lanes = LaneResize<V>;

/// The start of a horizontal plan.
struct alignas(64) PlanHeader {
  std::int32_t long_taps;  // 1 where outputs do not fit their windows
  std::int32_t chunks;     // of 16 taps, for long taps
};

std::int32_t long_chunks(std::int32_t stride) { return (stride + 15) / 16; }
/// The bytes of 16 taps: digits a unless narrow, then b, as words.
std::ptrdiff_t chunk_size(const Axis& axis) { return axis.narrow() ? 32 : 64; }

bool has_long_taps(const Axis& axis) {
  for (std::int32_t x = 0; x < axis.out; x += 4) {
    if (axis.first[smaller(x + 4, axis.out) - 1] + 4 - axis.first[x] > 16) return true;
  }
  return false;
}

std::size_t packed_size(const Axis& axis, ResizePass pass) {
  if (pass == ResizePass::kVertical) return Lanes::vertical_size(axis);
  const std::ptrdiff_t longs = axis.out * chunk_size(axis) * long_chunks(axis.stride);
  const std::ptrdiff_t groups = Lanes::groups_of(axis) * Lanes::group_size(axis);
  return sizeof(PlanHeader) + static_cast<std::size_t>(has_long_taps(axis) ? longs : groups);
}

void pack_long(std::uint8_t* packed, const Axis& axis, std::int32_t chunks) {
  const std::ptrdiff_t low = axis.narrow() ? 0 : 32;
  for (std::int32_t x = 0; x < axis.out; ++x) {
    for (std::int32_t t = 0; t < 16 * chunks; t += 4) {
      std::uint8_t* const at = packed + t / 16 * chunk_size(axis) + t % 16 * 2;
      const Digits of = split(axis, t < axis.stride ? four_weights(axis, x, t) : _mm_setzero_si128());
      const auto put = [](std::uint8_t* to, __m128i words) { _mm_storel_epi64(reinterpret_cast<__m128i*>(to), words); };
      if (low != 0) put(at, _mm_packs_epi32(of.a, of.a));
      put(at + low, _mm_packus_epi32(of.b, of.b));
    }
    packed += chunks * chunk_size(axis);
  }
}

void pack(std::uint8_t* packed, const Axis& axis, ResizePass pass) {
  if (pass == ResizePass::kVertical) return Lanes::pack_vertical(packed, axis);
  auto* header = reinterpret_cast<PlanHeader*>(packed);
  header->long_taps = has_long_taps(axis) ? 1 : 0;
  header->chunks = long_chunks(axis.stride);
  packed += sizeof(PlanHeader);
  return header->long_taps != 0 ? pack_long(packed, axis, header->chunks) : Lanes::pack_horizontal(packed, axis);
}

std::int32_t sum_of_lanes(Vec v) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
  return _mm_cvtsi128_si32(sum);
}

/// One row of outputs whose taps fill vectors. Up to 15 bytes past the last tap are read, with weights of zero.
template <bool kNarrow>
void long_row(std::uint8_t* target, const std::uint8_t* source, const Axis& axis, const std::uint8_t* packed,
              std::int32_t chunks) {
  for (std::int32_t x = 0; x < axis.out; ++x, packed += chunks * chunk_size(axis)) {
    const std::uint8_t* taps = source + axis.first[x];
    const std::uint8_t* digits = packed;
    Vec high = V::set32(0), low = high;
    for (std::int32_t t = 0; t < axis.count[x]; t += 16, digits += kNarrow ? 32 : 64) {
      const Vec words = _mm256_cvtepu8_epi16(load16(taps + t));
      if constexpr (!kNarrow) high = V::add32(high, V::dot(words, V::load(digits)));
      low = V::add32(low, V::dot(words, V::load(digits + (kNarrow ? 0 : 32))));
    }
    const std::int32_t exact = sum_of_lanes(V::add32(low, V::shift_left32<16>(high)));
    const std::int32_t sum = (exact + (1 << (axis.bits - 1))) >> axis.bits;
    target[x] = static_cast<std::uint8_t>(sum < 0 ? 0 : sum > 255 ? 255 : sum);
  }
}

void horizontal(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const Axis& axis, const std::uint8_t* packed) {
  const PlanHeader header = *reinterpret_cast<const PlanHeader*>(packed);
  packed += sizeof(PlanHeader);
  if (header.long_taps == 0) return Lanes::horizontal(out, in, rows, axis, packed);
  const auto row = axis.narrow() ? long_row<true> : long_row<false>;
  for (std::int32_t y = 0; y < rows; ++y) {
    row(out.data + y * out.stride, in.data + y * in.stride, axis, packed, header.chunks);
  }
}

}  // namespace

const ResizeKernels kResizeAvx2{packed_size, pack, horizontal, Lanes::vertical};

}  // namespace drapps::kernel
