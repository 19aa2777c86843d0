// Places of the coefficient form, as coefficients.h describes it. For its reader and its writer.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "drapps/decode/jpeg/frame.h"
#include "drapps/kernel/jpeg/expand.h"

namespace drapps::jpeg {

static_assert(std::endian::native == std::endian::little);

/// Not text, and damaged by whatever changes ends of lines.
inline constexpr std::array<char, 8> kCoefficientMagic{'\x89', 'D', 'J', 'C', '\r', '\n', '\x1A', '\n'};
inline constexpr std::uint32_t kVersion = 1;

// Offsets from the begin of lane 0.
inline constexpr std::size_t kVersionAt = 8, kHeadLanesAt = 12, kSumAt = 16;
// Offsets from the begin of lane 1; the rest of that lane is zeros.
inline constexpr std::size_t kWidthAt = 0, kHeightAt = 4, kComponentsAt = 8, kAcrossAt = 9, kDownAt = 10,
                             kOrientationAt = 11, kShapeBytes = 12;
inline constexpr std::size_t kTablesAt = 2 * kernel::jpeg::kLane;
inline constexpr std::size_t kTableBytes = kernel::jpeg::kBlock * sizeof(std::uint16_t);

constexpr std::size_t lanes_for(std::size_t bytes) noexcept {
  return (bytes + kernel::jpeg::kLane - 1) / kernel::jpeg::kLane;
}

/// Where the directory stands.
struct HeadLayout {
  explicit HeadLayout(const Frame& frame) noexcept
      : rows(static_cast<std::size_t>(frame.mcus_down())),
        sums(kTablesAt + kTableBytes * static_cast<std::size_t>(frame.components)),
        row_lanes(sums + 8 * rows) {}

  std::size_t lanes() const noexcept { return lanes_for(row_lanes + 4 * rows); }

  std::size_t rows;
  std::size_t sums;
  std::size_t row_lanes;
};

}  // namespace drapps::jpeg
