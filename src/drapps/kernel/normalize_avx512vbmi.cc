// Tables in registers.
//
// 1. The result is a table of 256 numbers, whatever arithmetic made it; so nothing is computed. Byte k of the
//    numbers is a table of 256 bytes: four vectors. vpermi2b looks 64 pixels up in two of them at once, in the
//    other two likewise, and the top bit of the pixel chooses.
// 2. Four such tables give the four bytes of 64 floats; two give those of 16 bits. Unpacking joins the bytes within
//    the quarters of a vector, so pixels are first put in the order that makes the results come out in sequence.
#include "drapps/kernel/normalize_kernels.h"
#include "drapps/kernel/store_avx512.h"
#include "drapps/kernel/vector_table.h"

namespace drapps::kernel {
namespace {

constexpr std::size_t kPixels = 64;

using PixelIndex = VectorTable<std::uint8_t, kPixels>;

/// Elements of `bytes` bytes: place 16 q + w k + i of quarter q takes pixel 4 w k + w q + i, where a quarter holds
/// w = 16 / bytes of the pixels of each result k.
constexpr PixelIndex order_for(std::size_t bytes) {
  PixelIndex index{};
  const std::size_t w = 16 / bytes;
  for (std::size_t q = 0; q < 4; ++q) {
    for (std::size_t k = 0; k < bytes; ++k) {
      for (std::size_t i = 0; i < w; ++i)
        index.at[16 * q + w * k + i] = static_cast<std::uint8_t>(4 * w * k + w * q + i);
    }
  }
  return index;
}
constexpr PixelIndex kOrder32 = order_for(4);
constexpr PixelIndex kOrder16 = order_for(2);

struct ByteTable {
  __m512i part[4];

  explicit ByteTable(const std::uint8_t* table) {
    for (int k = 0; k < 4; ++k) part[k] = _mm512_loadu_si512(table + 64 * k);
  }
  __m512i at(__m512i index) const {
    const __m512i low = _mm512_permutex2var_epi8(part[0], index, part[1]);
    const __m512i high = _mm512_permutex2var_epi8(part[2], index, part[3]);
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(index), low, high);
  }
};

__m512i pixels(const std::uint8_t* in, const PixelIndex& order) {
  return _mm512_permutexvar_epi8(_mm512_load_si512(order.at), _mm512_loadu_si512(in));
}

void to_float32(float* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table, bool stream) {
  const ByteTable t0(table.bytes[0]), t1(table.bytes[1]);
  const ByteTable t2(table.bytes[2]), t3(table.bytes[3]);
  stream = stream && aligned(out);
  for (std::size_t x = 0; x < n; x += kPixels) {
    const __m512i from = pixels(in + x, kOrder32);
    const __m512i b0 = t0.at(from), b1 = t1.at(from), b2 = t2.at(from), b3 = t3.at(from);
    const __m512i low01 = _mm512_unpacklo_epi8(b0, b1), high01 = _mm512_unpackhi_epi8(b0, b1);
    const __m512i low23 = _mm512_unpacklo_epi8(b2, b3), high23 = _mm512_unpackhi_epi8(b2, b3);
    const __m512i floats[4]{_mm512_unpacklo_epi16(low01, low23), _mm512_unpackhi_epi16(low01, low23),
                            _mm512_unpacklo_epi16(high01, high23), _mm512_unpackhi_epi16(high01, high23)};
    store(reinterpret_cast<std::uint8_t*>(out + x), floats, 4 * (n - x), stream);
  }
}

void to_halves(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const HalfTable& table, bool stream) {
  const ByteTable t0(table.bytes[0]), t1(table.bytes[1]);
  stream = stream && aligned(out);
  for (std::size_t x = 0; x < n; x += kPixels) {
    const __m512i from = pixels(in + x, kOrder16);
    const __m512i b0 = t0.at(from), b1 = t1.at(from);
    const __m512i numbers[2]{_mm512_unpacklo_epi8(b0, b1), _mm512_unpackhi_epi8(b0, b1)};
    store(reinterpret_cast<std::uint8_t*>(out + x), numbers, 2 * (n - x), stream);
  }
}

void to_bfloat16(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table, bool stream) {
  to_halves(out, in, n, table.bfloat16, stream);
}

void to_float16(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table, bool stream) {
  to_halves(out, in, n, table.float16, stream);
}

}  // namespace

const NormalizeKernels kNormalizeAvx512Vbmi{to_float32, to_bfloat16, to_float16, interleave3x32_avx512,
                                            interleave3x16_avx512};

}  // namespace drapps::kernel
