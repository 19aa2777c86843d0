// Tables that are kept as the places where their value changes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace drapps::text {

/// One byte for each code point up to 0x10FFFF, of code point << 8 | byte, ascending, beginning with code point 0.
inline std::vector<std::uint8_t> expand_runs(std::span<const std::uint32_t> runs) {
  constexpr std::uint32_t kPoints = 0x110000;
  std::vector<std::uint8_t> table(kPoints);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::uint32_t end = i + 1 < runs.size() ? runs[i + 1] >> 8 : kPoints;
    std::fill(table.begin() + (runs[i] >> 8), table.begin() + end, static_cast<std::uint8_t>(runs[i]));
  }
  return table;
}

}  // namespace drapps::text
