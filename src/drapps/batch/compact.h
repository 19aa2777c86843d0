// Rows of bad samples leave a batch, for on_error = skip.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace drapps {

/// Moves the rows of a column down over those in `bad` (rising, each below `rows`), in their order, and returns how
/// many are left. What then stands in the last rows means nothing. Call it for each column of the batch.
/// @param column  `rows` rows of `row_bytes` bytes, one after another
std::uint32_t compact_rows(std::byte* column, std::size_t row_bytes, std::uint32_t rows,
                           std::span<const std::uint32_t> bad) noexcept;

}  // namespace drapps
