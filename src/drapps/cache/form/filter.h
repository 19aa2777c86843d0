// Bytes put in another order before they are compressed, so that like stands beside like.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace drapps::cache {

enum class ByteFilter : std::uint8_t {
  kNone,
  kShuffle,      // the first byte of every element, then the second, …
  kDifferences,  // of each element and the one before it in its row, modulo its range; then as kShuffle
};
inline constexpr std::size_t kFilters = 3;

/// Whether a filter does anything to elements of so many bytes: differences are of whole numbers of 1 or 2.
constexpr bool applies(ByteFilter filter, std::size_t element, bool whole) noexcept {
  switch (filter) {
    case ByteFilter::kNone: return true;
    case ByteFilter::kShuffle: return element > 1;
    case ByteFilter::kDifferences: return whole && element <= 2;
  }
  return false;
}

/// Rows of equal length, without gaps. `in` and `out` do not overlap.
struct FilteredRows {
  std::size_t row_bytes = 0;  // a multiple of the element's
  std::size_t element = 1;
};
void apply(ByteFilter filter, const FilteredRows& rows, std::span<const std::uint8_t> in,
           std::span<std::uint8_t> out) noexcept;
void undo(ByteFilter filter, const FilteredRows& rows, std::span<const std::uint8_t> in,
          std::span<std::uint8_t> out) noexcept;

}  // namespace drapps::cache
