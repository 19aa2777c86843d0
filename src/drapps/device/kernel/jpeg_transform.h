// Blocks of coefficients become samples: dequantised, and transformed as kernel/jpeg/idct.h promises it. A body: see
// body.h. The arithmetic and its reasons are those of kernel/jpeg/pixels_portable.cc.
//
// Eight threads share a block: each takes a column, then a row.
#pragma once

#include <cstdint>

#include "drapps/device/kernel/jpeg_planes.h"

namespace drapps::device {

struct JpegTransformArguments {
  const std::int16_t* coefficients = nullptr;  // [blocks][kJpegBlock], row by row, as quantised
  const std::int16_t* quantizers = nullptr;    // [][kJpegBlock] in the same order
  const JpegPlane* planes = nullptr;
  const JpegTile* tiles = nullptr;  // one for each block of threads, of planes
  std::uint8_t* samples = nullptr;  // aligned to 8
};

struct JpegTransform {
  using Arguments = JpegTransformArguments;
  static constexpr std::int32_t kThreads = 256;
  static constexpr std::int32_t kPhases = 3;
  static constexpr std::int32_t kBlocks = kThreads / 8;  // of coefficients, that one block of threads transforms

  struct Shared {
    std::int16_t at[kBlocks][kJpegBlock];
    std::uint8_t dense[kBlocks][8];  // whether a column has more than its first coefficient
  };

  /// 16 bits that wrap, and 16 bits that saturate.
  static constexpr std::int16_t wrapped(std::int32_t x) { return static_cast<std::int16_t>(x); }
  static constexpr std::int16_t saturated(std::int32_t x) {
    return static_cast<std::int16_t>(x < -32768 ? -32768 : x > 32767 ? 32767 : x);
  }

  /// Eight frequencies to eight samples, in place.
  template <int kShift>
  static void transform(std::int16_t (&at)[8]) {
    constexpr std::int32_t kHalf = 1 << (kShift - 1);
    const std::int32_t sum = wrapped(at[0] + at[4]) * 8192 + kHalf;
    const std::int32_t difference = wrapped(at[0] - at[4]) * 8192 + kHalf;
    const std::int32_t rotated0 = at[2] * 10703 + at[6] * 4433;
    const std::int32_t rotated1 = at[2] * 4433 - at[6] * 10704;
    const std::int32_t even[4] = {sum + rotated0, difference + rotated1, difference - rotated1, sum - rotated0};

    const std::int16_t z3 = wrapped(at[7] + at[3]);
    const std::int16_t z4 = wrapped(at[5] + at[1]);
    const std::int32_t shared3 = z3 * -6436 + z4 * 9633;
    const std::int32_t shared4 = z3 * 9633 + z4 * 6437;
    const std::int32_t odd[4] = {at[7] * -7373 + at[1] * 4926 + shared4, at[5] * -20995 + at[3] * 4177 + shared3,
                                 at[5] * -4176 + at[3] * -20995 + shared4, at[7] * -4927 + at[1] * -7373 + shared3};
    for (std::int32_t k = 0; k < 4; ++k) {
      at[k] = saturated((even[k] + odd[k]) >> kShift);
      at[7 - k] = saturated((even[k] - odd[k]) >> kShift);
    }
  }

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& shared, std::int32_t block, std::int32_t thread) {
    const JpegTile tile = a.tiles[block];
    const JpegPlane& plane = a.planes[tile.of];
    const std::int32_t in_tile = thread / 8;
    const std::int32_t lane = thread % 8;
    const std::int32_t number = tile.first + in_tile;
    if (number >= plane.across * plane.down) return;
    std::int16_t* const square = shared.at[in_tile];
    if constexpr (kPhase == 0) {
      load(a, plane, number, lane, square, shared.dense[in_tile][lane]);
    } else if constexpr (kPhase == 1) {
      transform_column(square, shared.dense[in_tile], lane);
    } else {
      transform_row(a, plane, number, lane, square);
    }
  }

  static void load(const Arguments& a, const JpegPlane& plane, std::int32_t number, std::int32_t lane,
                   std::int16_t* square, std::uint8_t& dense) {
    const std::int16_t* coefficients = a.coefficients + (plane.blocks + number) * kJpegBlock;
    const std::int16_t* quantizer = a.quantizers + plane.quantizer * kJpegBlock;
    std::int32_t any = 0;
    for (std::int32_t at = lane; at < kJpegBlock; at += 8) {
      if (at != lane) any |= coefficients[at];
      square[at] = wrapped(coefficients[at] * quantizer[at]);
    }
    dense = any != 0 ? 1 : 0;
  }

  static void transform_column(std::int16_t* square, const std::uint8_t (&dense)[8], std::int32_t lane) {
    std::int32_t any = 0;
    for (const std::uint8_t column : dense) any |= column;
    std::int16_t column[8];
    if (any != 0) {
      for (std::int32_t k = 0; k < 8; ++k) column[k] = square[8 * k + lane];
      transform<11>(column);
    } else {
      for (std::int16_t& each : column) each = wrapped(square[lane] * 4);
    }
    for (std::int32_t k = 0; k < 8; ++k) square[8 * k + lane] = column[k];
  }

  static void transform_row(const Arguments& a, const JpegPlane& plane, std::int32_t number, std::int32_t lane,
                            const std::int16_t* square) {
    std::int16_t row[8];
    for (std::int32_t k = 0; k < 8; ++k) row[k] = square[8 * lane + k];
    transform<18>(row);
    const std::int64_t y = std::int64_t{8} * (number / plane.across) + lane;
    std::uint8_t* out = a.samples + plane.samples + (y * plane.across + number % plane.across) * 8;
    for (std::int32_t k = 0; k < 8; ++k) {
      const std::int32_t level = row[k] + 128;
      out[k] = static_cast<std::uint8_t>(level < 0 ? 0 : level > 255 ? 255 : level);
    }
  }
};

}  // namespace drapps::device
