// 32 outputs and 64 columns at a time. The windows of four lanes come from one load, elements of 32 bits where vpermd
// puts them: on Skylake and Cascade Lake that is one of two busy ports taken once, not three times as by inserting. It
// needs outputs that lie close together (shrinking by less than 3); others, which are few in one picture, are AVX2's.
#include "drapps/kernel/avx512.h"
#include "drapps/kernel/resize_lanes.h"

namespace drapps::kernel {
namespace {

struct ResizeVector512 {
  using Vec = __m512i;

  /// Where the load starts for both halves, and which of its elements belong to their lanes.
  static constexpr std::ptrdiff_t kPlaceBytes = 3 * 64;
  static constexpr std::int32_t output_of(std::int32_t half, std::int32_t lane) { return 16 * half + 4 * lane; }
  /// The source pixels at which the load and the window of a lane start.
  struct LanePlace {
    std::int32_t base, window;
  };
  static LanePlace place_of(const Axis& axis, std::int32_t x0, std::int32_t half, std::int32_t lane) {
    const std::int32_t last = axis.out - 1, base = axis.first[smaller(x0 + 16 * half, last)];
    return {base, base + (axis.first[smaller(x0 + output_of(half, lane), last)] - base) / 4 * 4};
  }
  static std::int32_t place(std::uint8_t* places, const Axis& axis, std::int32_t x0, std::int32_t half,
                            std::int32_t lane) {
    const LanePlace at = place_of(axis, x0, half, lane);
    reinterpret_cast<std::int32_t*>(places)[half] = at.base;
    auto* const elements = reinterpret_cast<std::int32_t*>(places + 64 * (1 + half)) + 4 * lane;
    for (std::int32_t i = 0; i < 4; ++i) elements[i] = (at.window - at.base) / 4 + i;
    return at.window;
  }
  struct SourceWindow {
    std::ptrdiff_t base;
    Vec elements;
    SourceWindow(const std::uint8_t* places, std::int32_t half)
        : base(reinterpret_cast<const std::int32_t*>(places)[half]), elements(load(places + 64 * (1 + half))) {}
    Vec at(const std::uint8_t* row) const { return _mm512_permutexvar_epi32(elements, _mm512_loadu_si512(row + base)); }
  };
  static Vec pick(Vec bytes, Vec index) { return _mm512_shuffle_epi8(bytes, index); }
  /// Stores the first 8 bytes of each lane: four outputs of either half.
  static void store_group(std::uint8_t* target, Vec bytes, std::int32_t count) {
    const Vec by_half = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i ordered = _mm512_castsi512_si256(_mm512_permutexvar_epi32(by_half, bytes));
    if (count == 32) {
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(target), ordered);
    } else {
      _mm256_mask_storeu_epi8(target, static_cast<__mmask32>((std::uint32_t{1} << count) - 1), ordered);
    }
  }
  static void store(std::uint8_t* target, Vec bytes, std::int32_t count) {
    if (count >= 64) {
      _mm512_storeu_si512(target, bytes);
    } else {
      _mm512_mask_storeu_epi8(target, (std::uint64_t{1} << count) - 1, bytes);
    }
  }

  static Vec load(const std::uint8_t* from) { return _mm512_load_si512(from); }
  static Vec load_any(const std::uint8_t* from) { return _mm512_loadu_si512(from); }
  static Vec repeat32(const std::uint8_t* from) {
    std::int32_t number;
    std::memcpy(&number, from, 4);
    return _mm512_set1_epi32(number);
  }
  static Vec set16(int value) { return _mm512_set1_epi16(static_cast<short>(value)); }
  static Vec set32(int value) { return _mm512_set1_epi32(value); }
  static Vec both_of_bits(Vec a, Vec b) { return _mm512_and_si512(a, b); }
  static Vec add16(Vec a, Vec b) { return _mm512_add_epi16(a, b); }
  static Vec add32(Vec a, Vec b) { return _mm512_add_epi32(a, b); }
  static Vec dot(Vec a, Vec b) { return _mm512_madd_epi16(a, b); }
  static Vec dot_bytes(Vec a, Vec b) { return _mm512_maddubs_epi16(a, b); }
  static Vec dot_rounded(Vec a, Vec b) { return _mm512_mulhrs_epi16(a, b); }
  template <int kBits>
  static Vec shift_left32(Vec v) {
    return _mm512_slli_epi32(v, kBits);
  }
  template <int kBits>
  static Vec shift_right32(Vec v) {
    return _mm512_srai_epi32(v, kBits);
  }
  static Vec shift_right32(Vec v, __m128i bits) { return _mm512_sra_epi32(v, bits); }
  template <int kBits>
  static Vec shift_right16(Vec v) {
    return _mm512_srli_epi16(v, kBits);
  }
  static Vec pack32(Vec a, Vec b) { return _mm512_packs_epi32(a, b); }
  static Vec pack16(Vec a, Vec b) { return _mm512_packus_epi16(a, b); }
  static Vec low8(Vec a, Vec b) { return _mm512_unpacklo_epi8(a, b); }
  static Vec high8(Vec a, Vec b) { return _mm512_unpackhi_epi8(a, b); }
  static Vec low16(Vec a, Vec b) { return _mm512_unpacklo_epi16(a, b); }
  static Vec high16(Vec a, Vec b) { return _mm512_unpackhi_epi16(a, b); }
};

using V = ResizeVector512;
using Lanes = LaneResize<V>;

/// Whether one load has the windows of every vector's lanes.
bool is_dense(const Axis& axis) {
  for (std::int32_t x0 = 0; x0 < axis.out; x0 += Lanes::kHalf) {
    for (std::int32_t lane = 0; lane < Lanes::kLanes; ++lane) {
      const V::LanePlace at = V::place_of(axis, x0, 0, lane);
      const std::int32_t end = axis.first[smaller(x0 + 4 * lane + 3, axis.out - 1)] + 4;
      if (end - at.window > 16 || at.window + 16 - at.base > 64) return false;
    }
  }
  return true;
}

std::size_t packed_size(const Axis& axis, ResizePass pass) {
  if (pass == ResizePass::kVertical) return Lanes::vertical_size(axis);
  return is_dense(axis) ? static_cast<std::size_t>(Lanes::groups_of(axis) * Lanes::group_size(axis))
                        : kResizeAvx2.packed_size(axis, pass);
}

void pack(std::uint8_t* packed, const Axis& axis, ResizePass pass) {
  if (pass == ResizePass::kVertical) return Lanes::pack_vertical(packed, axis);
  return is_dense(axis) ? Lanes::pack_horizontal(packed, axis) : kResizeAvx2.pack(packed, axis, pass);
}

void horizontal(PlaneRows out, ConstPlaneRows in, std::int32_t rows, const Axis& axis, const std::uint8_t* packed) {
  return is_dense(axis) ? Lanes::horizontal(out, in, rows, axis, packed)
                        : kResizeAvx2.horizontal(out, in, rows, axis, packed);
}

}  // namespace

const ResizeKernels kResizeAvx512{packed_size, pack, horizontal, Lanes::vertical};

}  // namespace drapps::kernel
