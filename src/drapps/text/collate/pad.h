// Rows of different lengths side by side: padded to a matrix, or flattened into one row.
#pragma once

#include <cstdint>
#include <span>

namespace drapps::text {

/// Where each row begins among the values, and where the last one ends: one more number than rows, the first of them 0.
using Begins = std::span<const std::int64_t>;

/// Rows become those of a matrix with `width` columns, at least as many as the longest row has; the rest is `fill`, in
/// front of the row where `left`. `out` has (begins.size() - 1) * width numbers.
void pad_rows(std::span<const std::int64_t> values, Begins begins, std::size_t width, std::int64_t fill, bool left,
              std::span<std::int64_t> out);

/// 1 where pad_rows() puts a value, and 0 where it fills.
void mark_rows(Begins begins, std::size_t width, bool left, std::span<std::int64_t> out);

/// The place of each value within its row, counted from `first`; rows stand one behind the other.
void count_in_rows(Begins begins, std::int64_t first, std::span<std::int64_t> out);

/// The number of the row that each value is in; rows stand one behind the other.
void number_rows(Begins begins, std::span<std::int32_t> out);

}  // namespace drapps::text
