// Where the columns of a batch lie in its slot.
//
//   BatchLayout layout(64);
//   const std::size_t column = layout.add("label", Dtype::kInt64, {});
//   std::byte* at = layout.row(slot, column, row);
//
// A slot opens with a fixed header, so that another process can read it, and then holds each column
// from a multiple of 64 bytes on. Rows of a column follow one another without gaps, because that is what
// the frameworks call contiguous. A column whose batches differ in shape says in each slot, right before its data,
// which it has there.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drapps/data/dtype.h"

namespace drapps {

/// One named tensor of a batch: shape [rows, row_shape…].
struct Column {
  std::string name;
  Dtype dtype = Dtype::kUint8;
  std::vector<std::int64_t> row_shape;
  std::size_t row_bytes = 0;
  std::size_t offset = 0;  // from the start of the slot
  // Of a column that varies, the axes of the whole tensor; its rows are then the most room that a batch may take.
  std::optional<std::uint32_t> axes = std::nullopt;
};

/// The extents of a column that varies: as many of the first ones as it has axes.
using VaryingShape = std::array<std::int64_t, 2>;

/// First bytes of every slot.
struct SlotHeader {
  static constexpr std::uint64_t kMagic = 0x3130'5350'5041'5244;  // "DRAPPS01"
  std::uint64_t magic = kMagic;
  std::uint64_t step = 0;  // of the epoch
  std::uint32_t epoch = 0;
  std::uint32_t rows = 0;  // rows that hold a sample
};

class BatchLayout {
 public:
  explicit BatchLayout(std::uint32_t capacity) : capacity_(capacity) {}

  /// Adds a column and returns its place in columns().
  std::size_t add(std::string name, Dtype dtype, std::vector<std::int64_t> row_shape);
  /// Adds a column that varies, with at most two axes and at most as many elements as capacity() rows have, and returns
  /// its place in columns().
  std::size_t add_varying(std::string name, Dtype dtype, std::vector<std::int64_t> row_shape, std::uint32_t axes);

  const std::vector<Column>& columns() const noexcept { return columns_; }
  /// The place of the column of that name; the number of columns where none has it.
  std::size_t find(std::string_view name) const noexcept;
  std::uint32_t capacity() const noexcept { return capacity_; }  // rows
  std::size_t bytes() const noexcept { return end_; }

  std::byte* row(std::byte* slot, std::size_t column, std::uint32_t row) const noexcept {
    return slot + columns_[column].offset + columns_[column].row_bytes * row;
  }
  /// Says which shape a column that varies has in a slot.
  void set_shape(std::byte* slot, std::size_t column, const VaryingShape& shape) const noexcept;
  /// The shape of a column in a slot with so many rows.
  std::vector<std::int64_t> shape(const std::byte* slot, const Column& column, std::uint32_t rows) const;

 private:
  std::uint32_t capacity_;
  std::vector<Column> columns_;
  std::size_t end_ = 64;  // the header has the first 64 bytes
};

}  // namespace drapps
