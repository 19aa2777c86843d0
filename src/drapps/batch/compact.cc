#include "drapps/batch/compact.h"

#include <cstring>

namespace drapps {

std::uint32_t compact_rows(std::byte* column, std::size_t row_bytes, std::uint32_t rows,
                           std::span<const std::uint32_t> bad) noexcept {
  if (bad.empty()) return rows;
  std::size_t kept = bad[0];
  for (std::size_t i = 0; i < bad.size(); ++i) {
    const std::size_t first = bad[i] + std::size_t{1};
    const std::size_t end = i + 1 < bad.size() ? bad[i + 1] : rows;
    std::memmove(column + kept * row_bytes, column + first * row_bytes, (end - first) * row_bytes);
    kept += end - first;
  }
  return static_cast<std::uint32_t>(kept);
}

}  // namespace drapps
