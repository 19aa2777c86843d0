// The inverse transform of kBlocks blocks at once, for vectors of any width. Included by pixels_avx2.cc and
// pixels_avx512.cc only; everything has internal linkage, since each compiles it for its own level.
//
// A vector is a row of 128-bit lanes, and a lane belongs to one block from the coefficients to the pixels: nothing ever
// crosses over. The multiplications are of pairs: a 32-bit element holds two 16-bit numbers, and one instruction makes
// the sum of both products. So the frequencies travel in the pairs that the algorithm multiplies together, (4, 0),
// (2, 6), (7, 1) and (5, 3), through the whole transform:
//
// 1. Row v of every block: dequantised, its columns put into the order 4 0 2 6 7 1 5 3, then interleaved with the row
//    that v is paired with. Each pair of rows gives two vectors, of four columns each.
// 2. Transform the columns (see idct.h for the method, pixels_portable.cc for the numbers). Rounding costs nothing: it
//    comes with the zeros that 16 bits are shifted in with. Packing both vectors of a row of results saturates, as it
//    must, and leaves the columns in their order, so that they lie in pairs again.
// 3. Transpose: pairs are 32-bit elements, two steps instead of the three of single numbers.
// 4. Transform the rows. The last shift is by 18 bits with rounding: the upper 16 bits are taken, and the other 2 go by
//    vpmulhrsw with 2^13, whose rounding is the same, floor((floor(x / 2^16) + 2) / 4) = floor((x + 2^17) / 2^18).
// 5. Saturate to bytes and bring each row of a block together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "drapps/kernel/jpeg/idct.h"

namespace drapps::kernel::jpeg {
// Unnamed on purpose: each level compiles these for itself, and the linker must not merge them.
namespace {  // NOLINT(google-build-namespaces)

/// V is the vector: see pixels_avx2.cc for what it has to do.
template <class V>
struct InverseDct {
  using Vec = typename V::Vec;
  static constexpr std::size_t kBlocks = V::kBlocks;

  /// What goes into one 1-D transform, as elements of two numbers each, the lower one named first.
  struct Pairs {
    Vec p40, p26, p71, p53;
  };

  /// Eight samples of 32 bits, not yet shifted. `below` fills the 16 bits below a number: rounding times 8.
  static void transform(Vec out[8], const Pairs& in, Vec below) {
    const Vec upper0 = V::upper_words(in.p40, below);
    const Vec upper4 = V::template shift_left32<16>(in.p40);
    const Vec sum = V::template shift_right32<3>(V::add32(upper0, upper4));
    const Vec difference = V::template shift_right32<3>(V::sub32(upper0, upper4));
    Vec even[4];
    V::template plus_minus<10703, 4433>(even[0], even[3], sum, in.p26);
    V::template plus_minus<4433, -10704>(even[1], even[2], difference, in.p26);

    const Vec z34 = V::add16(in.p71, V::swap_words(in.p53));  // 7 + 3, 1 + 5
    const Vec shared3 = V::dot(z34, V::template pairs<-6436, 9633>());
    const Vec shared4 = V::dot(z34, V::template pairs<9633, 6437>());
    const Vec odd[4]{V::dot(shared4, in.p71, V::template pairs<-7373, 4926>()),
                     V::dot(shared3, in.p53, V::template pairs<-20995, 4177>()),
                     V::dot(shared4, in.p53, V::template pairs<-4176, -20995>()),
                     V::dot(shared3, in.p71, V::template pairs<-4927, -7373>())};
    for (std::size_t k = 0; k < 4; ++k) {
      out[k] = V::add32(even[k], odd[k]);
      out[7 - k] = V::sub32(even[k], odd[k]);
    }
  }

  /// Where rows 1 … 7 of a block are zero as quantised, libjpeg-turbo shifts row 0 instead of transforming it. That is
  /// the same unless 16 bits overflow: then it wraps, where the transform saturates. Cutting the row to 14 bits
  /// beforehand gives the wrapped number either way. Called for row 0 only if some number of it needs more.
  [[gnu::noinline, gnu::cold]] static void cut_flat_rows(std::int16_t row[8 * kBlocks], const std::int16_t* blocks) {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      bool flat = true;
      for (std::size_t i = 8; i < kBlock; ++i) flat = flat && blocks[kBlock * b + i] == 0;
      if (!flat) continue;
      for (std::size_t u = 8 * b; u < 8 * b + 8; ++u) {
        row[u] = static_cast<std::int16_t>(static_cast<std::int16_t>(row[u] * 4) >> 2);
      }
    }
  }

  static void group(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* blocks, const std::int16_t* quant) {
    Vec rows[8];
    for (std::size_t v = 0; v < 8; ++v) {
      rows[v] = V::mul16(V::load_rows(blocks + 8 * v), V::repeat_row(quant + 8 * v));
    }
    if (V::any_beyond_14_bits(rows[0])) [[unlikely]] {
      alignas(64) std::int16_t row[8 * kBlocks];
      V::store(row, rows[0]);
      cut_flat_rows(row, blocks);
      rows[0] = V::load(row);
    }
    Pairs columns[2];
    V::interleave(columns[0].p40, columns[1].p40, rows[4], rows[0]);
    V::interleave(columns[0].p26, columns[1].p26, rows[2], rows[6]);
    V::interleave(columns[0].p71, columns[1].p71, rows[7], rows[1]);
    V::interleave(columns[0].p53, columns[1].p53, rows[5], rows[3]);

    Vec first[8], second[8];
    const Vec half = V::template pairs<1 << 13, 0>();
    transform(first, columns[0], half);
    transform(second, columns[1], half);
    Vec packed[8];
    for (std::size_t y = 0; y < 8; ++y) {
      packed[y] = V::pack32(V::template shift_right32<11>(first[y]), V::template shift_right32<11>(second[y]));
    }

    for (std::size_t y = 0; y < 8; y += 4) {
      const Vec even0 = V::low32(packed[y], packed[y + 1]), odd0 = V::high32(packed[y], packed[y + 1]);
      const Vec even2 = V::low32(packed[y + 2], packed[y + 3]), odd2 = V::high32(packed[y + 2], packed[y + 3]);
      const Pairs row{V::low64(even0, even2), V::high64(even0, even2), V::low64(odd0, odd2), V::high64(odd0, odd2)};
      Vec samples[8];
      transform(samples, row, V::zero());
      Vec words[4];  // of four rows: two neighbouring pixels each
      for (std::size_t k = 0; k < 4; ++k) {
        const Vec upper = V::upper_words(samples[2 * k + 1], V::template shift_right32_logical<16>(samples[2 * k]));
        words[k] = V::mul16_rounded(upper, V::template pairs<1 << 13, 1 << 13>());
      }
      V::store_rows(out + static_cast<std::ptrdiff_t>(y) * stride, stride, V::pack16(words[0], words[1]),
                    V::pack16(words[2], words[3]));
    }
  }

  static void run(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* blocks, std::size_t count,
                  const std::int16_t* quant) {
    if (count >= kBlocks) {
      // The last group overlaps the one before it where the count is no multiple.
      for (std::size_t b = 0; b + kBlocks < count; b += kBlocks) group(out + 8 * b, stride, blocks + kBlock * b, quant);
      const std::size_t b = count - kBlocks;
      return group(out + 8 * b, stride, blocks + kBlock * b, quant);
    }
    alignas(64) std::int16_t few[kBlock * kBlocks]{};
    alignas(64) std::uint8_t pixels[8 * 8 * kBlocks];
    std::memcpy(few, blocks, count * kBlock * sizeof(std::int16_t));
    group(pixels, 8 * kBlocks, few, quant);
    for (std::size_t y = 0; y < 8; ++y) {
      std::memcpy(out + static_cast<std::ptrdiff_t>(y) * stride, pixels + 8 * kBlocks * y, 8 * count);
    }
  }
};

}  // namespace
}  // namespace drapps::kernel::jpeg
