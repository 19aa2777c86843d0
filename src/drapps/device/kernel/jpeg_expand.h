// Blocks of the coefficient form get their zeros back, a thread for each: as kernel/jpeg/expand.h has it. A body: see
// body.h.
#pragma once

#include <cstdint>

#include "drapps/device/kernel/jpeg_planes.h"

namespace drapps::device {

/// Blocks of one row of a plane.
struct JpegRun {
  std::int64_t data = 0;   // bytes from JpegExpandArguments::data, a multiple of 8, to masks[count], 8 bytes each; then
                           // where the values of each block begin, counted from the first value, 4 bytes each; then DC
                           // coefficients, 2 bytes each; then the values
  std::int64_t block = 0;  // in all blocks of coefficients
  std::int32_t count = 0;

  static constexpr std::int32_t kHeadBytes = 8 + 4 + 2;  // of a block
};

struct JpegExpandArguments {
  const std::uint8_t* data = nullptr;  // aligned to 8
  const JpegRun* runs = nullptr;
  const JpegTile* tiles = nullptr;       // one for each block of threads, of runs
  std::int16_t* coefficients = nullptr;  // [blocks][kJpegBlock]
};

struct JpegExpand {
  using Arguments = JpegExpandArguments;
  struct Shared {
    std::uint8_t none;
  };
  static constexpr std::int32_t kThreads = 64;
  static constexpr std::int32_t kPhases = 1;

  template <std::int32_t kPhase>
  static void phase(const Arguments& a, Shared& /*shared*/, std::int32_t block, std::int32_t thread) {
    const JpegTile tile = a.tiles[block];
    const JpegRun& run = a.runs[tile.of];
    const std::int32_t number = tile.first + thread;
    if (number >= run.count) return;
    const std::uint8_t* const data = a.data + run.data;
    const std::uint64_t mask = reinterpret_cast<const std::uint64_t*>(data)[number];
    const std::uint8_t* const places = data + std::int64_t{8} * run.count;
    const std::uint8_t* const dc = places + std::int64_t{4} * run.count;
    const std::uint8_t* const values = dc + std::int64_t{2} * run.count;
    std::int16_t* const out = a.coefficients + (run.block + number) * kJpegBlock;
    out[0] = reinterpret_cast<const std::int16_t*>(dc)[number];
    fill(out, mask, values + reinterpret_cast<const std::uint32_t*>(places)[number]);
  }

  static void fill(std::int16_t* out, std::uint64_t mask, const std::uint8_t* values) {
    std::int32_t count = 0;  // of values, for their high bytes stand behind all low ones
    for (std::int32_t k = 1; k < kJpegBlock; ++k) count += static_cast<std::int32_t>(mask >> k & 1);
    const bool wide = (mask & 1) != 0;
    for (std::int32_t k = 1; k < kJpegBlock; ++k) {
      std::int32_t value = 0;
      if ((mask >> k & 1) != 0) {
        const std::int32_t low = *values;
        value = wide ? values[count] << 8 | low : low - ((low & 0x80) << 1);
        ++values;
      }
      out[k] = static_cast<std::int16_t>(value);
    }
  }
};

}  // namespace drapps::device
