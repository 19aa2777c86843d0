// Rows of a column of Arrow, by their numbers: texts where they lie, and numbers one behind the other.
//
//   auto column = ChunkedColumn::make(std::move(chunks));
//   auto ragged = column->integers(rows);  // of rows[i], values[begins[i]] up to values[begins[i + 1]]
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "drapps/base/result.h"

namespace drapps::text {

/// What values are stored as.
enum class Stored : std::uint8_t { kBytes, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kF32, kF64 };

/// A part of a column. Its buffers belong to whoever made the column, and outlive it.
struct ColumnChunk {
  Stored stored = Stored::kI64;
  const void* values = nullptr;
  std::size_t size = 0;           // of `values`, in elements
  const void* offsets = nullptr;  // where rows begin among the values, and one end; nothing: rows of equal width
  bool wide = false;              // offsets of 64 bits, else 32
  std::size_t rows = 0;
  std::size_t width = 1;  // of each row, without offsets
};

/// Numbers of rows, one row behind the other.
template <class T>
struct Ragged {
  std::vector<T> values;
  std::vector<std::int64_t> begins;  // of each row, and the end of the last
};

/// Rows that lie in any number of chunks. Reading is safe from any thread.
class ChunkedColumn {
 public:
  /// @return kInvalidArgument for chunks whose rows end beyond their values, as far as that can be seen at once.
  static Result<ChunkedColumn> make(std::vector<ColumnChunk> chunks);

  std::size_t rows() const noexcept { return firsts_.back(); }

  /// The whole numbers of rows. @return kInvalidArgument for a row that there is not, or whose offsets are damaged.
  Result<Ragged<std::int64_t>> integers(std::span<const std::int64_t> rows) const;
  /// The numbers of rows of a column of floating point, in double precision.
  Result<Ragged<double>> doubles(std::span<const std::int64_t> rows) const;
  /// The bytes of rows, where they lie.
  Result<std::vector<std::string_view>> texts(std::span<const std::int64_t> rows) const;

 private:
  struct ChunkPlace {
    const ColumnChunk* chunk;
    std::size_t begin;
    std::size_t end;
  };

  ChunkedColumn() = default;
  Result<ChunkPlace> find(std::int64_t row) const;
  template <class T>
  Result<Ragged<T>> take(std::span<const std::int64_t> rows) const;

  std::vector<ColumnChunk> chunks_;
  std::vector<std::size_t> firsts_;  // row of each chunk, and how many rows there are
};

}  // namespace drapps::text
