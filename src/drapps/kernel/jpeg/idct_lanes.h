// The inverse transform of as many blocks as a vector has lanes of 128 bits: a lane belongs to one block from the
// coefficients to the pixels. Included by pixels_<level>.cc only; everything has internal linkage, since each compiles
// it for its own level.
#pragma once

#include <cstring>

#include "drapps/kernel/jpeg/idct_vector.h"

namespace drapps::kernel::jpeg {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

/// V is the vector: see vector256.h for what it has to do.
template <class V>
struct LaneDct {
  using Vec = typename V::Vec;
  using Dct = InverseDct<V>;
  static constexpr std::size_t kLanes = V::kBlocks;

  /// Where rows 1 … 7 of a block are zero as quantised, libjpeg-turbo shifts row 0 instead of transforming it. That is
  /// the same unless 16 bits overflow: then it wraps, where the transform saturates. Cutting row 0 to 14 bits
  /// beforehand gives the wrapped number either way. To be called if V::any_beyond_14_bits(row 0).
  /// @param row  row 0 of the blocks, dequantised
  [[gnu::noinline, gnu::cold]] static Vec cut_flat_rows(Vec row, const std::int16_t* blocks) {
    alignas(sizeof(Vec)) std::int16_t numbers[8 * kLanes];
    V::store(numbers, row);
    for (std::size_t b = 0; b < kLanes; ++b) {
      bool flat = true;
      for (std::size_t i = 8; i < kBlock; ++i) flat = flat && blocks[kBlock * b + i] == 0;
      if (!flat) continue;
      for (std::size_t u = 8 * b; u < 8 * b + 8; ++u) {
        numbers[u] = static_cast<std::int16_t>(static_cast<std::int16_t>(numbers[u] * 4) >> 2);
      }
    }
    return V::load(numbers);
  }

  /// Transforms kLanes blocks.
  static void transform(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* blocks,
                        const std::int16_t* quant) {
    Vec rows[8];
    V::dequantise(rows, blocks, quant);
    if (V::any_beyond_14_bits(rows[0])) [[unlikely]]
      rows[0] = cut_flat_rows(rows[0], blocks);
    typename Dct::Pairs columns[2];
    V::interleave(columns[0].p40, columns[1].p40, rows[4], rows[0]);
    V::interleave(columns[0].p26, columns[1].p26, rows[2], rows[6]);
    V::interleave(columns[0].p71, columns[1].p71, rows[7], rows[1]);
    V::interleave(columns[0].p35, columns[1].p35, rows[3], rows[5]);

    Vec first[8], second[8], packed[8];
    Dct::template transform<true>(first, columns[0]);
    Dct::template transform<true>(second, columns[1]);
    for (std::size_t y = 0; y < 8; ++y) {
      packed[y] = V::pack32(V::template shift_right32<11>(first[y]), V::template shift_right32<11>(second[y]));
    }
    for (std::size_t y = 0; y < 8; y += 4) {
      const Vec low01 = V::low32(packed[y], packed[y + 1]), high01 = V::high32(packed[y], packed[y + 1]);
      const Vec low23 = V::low32(packed[y + 2], packed[y + 3]), high23 = V::high32(packed[y + 2], packed[y + 3]);
      const typename Dct::Pairs row{V::low64(low01, low23), V::high64(low01, low23), V::low64(high01, high23),
                                    V::high64(high01, high23)};
      Vec samples[8], words[4];  // words of four rows: two neighbouring pixels each
      Dct::template transform<false>(samples, row);
      for (std::size_t k = 0; k < 4; ++k) {
        const Vec upper = V::upper_words(samples[2 * k + 1], V::template shift_right32_logical<16>(samples[2 * k]));
        words[k] = V::mul16_rounded(upper, V::words(1 << 13));
      }
      V::store_rows(out + static_cast<std::ptrdiff_t>(y) * stride, stride, V::pack16(words[0], words[1]),
                    V::pack16(words[2], words[3]));
    }
  }

  static void inverse_dct(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* blocks, std::size_t count,
                          const std::int16_t* quant) {
    if (count >= kLanes) {
      for (std::size_t b = 0; b + kLanes < count; b += kLanes)
        transform(out + 8 * b, stride, blocks + kBlock * b, quant);
      // The last group overlaps the one before it where the count is no multiple.
      const std::size_t last = count - kLanes;
      transform(out + 8 * last, stride, blocks + kBlock * last, quant);
    } else if (count > 0) {
      alignas(64) std::int16_t few[kLanes * kBlock]{};
      std::uint8_t pixels[8 * 8 * kLanes];
      std::memcpy(few, blocks, count * kBlock * sizeof *blocks);
      transform(pixels, 8 * kLanes, few, quant);
      for (std::ptrdiff_t y = 0; y < 8; ++y) {
        std::memcpy(out + y * stride, pixels + 8 * y * static_cast<std::ptrdiff_t>(kLanes), 8 * count);
      }
    }
  }
};

}  // namespace
}  // namespace drapps::kernel::jpeg
