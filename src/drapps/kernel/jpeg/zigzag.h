// The order in which the coefficients of a block are coded (T.81, figure 5).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace drapps::kernel::jpeg {

/// Where coefficient k of the scan stands in a block, row by row. A run may end up to 15 past the end of the block, and
/// its value then goes where libjpeg puts it; the end of the block, which counts 128, puts a 0 there, even where it was
/// looked up together with such a run.
inline constexpr auto kZigzag = [] {
  std::array<std::uint8_t, 64 + 15 + 128> at{};
  at.fill(63);
  // Along the anti-diagonals, upwards and downwards in turn.
  for (int diagonal = 0, k = 0; diagonal < 15; ++diagonal) {
    for (int i = 0; i <= diagonal; ++i) {
      const int row = diagonal % 2 == 0 ? diagonal - i : i;
      if (row < 8 && diagonal - row < 8)
        at[static_cast<std::size_t>(k++)] = static_cast<std::uint8_t>(row * 7 + diagonal);
    }
  }
  return at;
}();
static_assert(kZigzag[2] == 8 && kZigzag[3] == 16 && kZigzag[28] == 7 && kZigzag[62] == 62);

}  // namespace drapps::kernel::jpeg
