// The columns of a plan's batches, and what fills them: rows one by one as their samples are finished, or many at a
// time where records are rows in memory.
//
//   columns.add("mask", Dtype::kUint8, {224, 224}, [this](const Sample& sample, std::byte* row) {
//     return write_mask(sample, row);
//   });
//   for (const ColumnWriter& each : columns.writers) each.write(sample, columns.layout.row(slot, each.column, row));
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "drapps/base/result.h"
#include "drapps/deliver/batch_layout.h"
#include "drapps/modality/modality.h"
#include "drapps/source/source.h"

namespace drapps {

/// Bits of the column "flags".
inline constexpr std::uint8_t kFlagPadded = 1;    // a repeat that fills the last batch of a rank, or a row without data
inline constexpr std::uint8_t kFlagReplaced = 2;  // another sample stands in for a bad one; "index" names that one

/// Fills a sample's row of one column.
struct ColumnWriter {
  std::size_t column = 0;        // in the layout
  RecordPart part = kFirstPart;  // of the record, which errors are about
  std::function<Status(const Sample& sample, std::byte* row)> write;
};

/// Neighbouring rows of a batch.
struct RowRun {
  std::span<const std::uint64_t> records;  // indices
  std::span<const std::uint64_t> rows;     // of the arrays
  std::uint64_t first_position = 0;
  std::size_t real = 0;  // those before the first that pads
  const Workspace& workspace;
};

/// Fills one column of many rows.
struct ColumnGatherer {
  std::size_t column = 0;
  /// Fills rows of a run from `next` on, the first of which is at `first`, and counts `next` on. An error is about row
  /// `next`; who calls again with a `next` behind it goes on there.
  std::function<Status(const RowRun& run, std::size_t& next, std::byte* first)> gather;
  const Array* array = nullptr;  // the array whose rows the column holds unchanged, or null
};

/// What stands in a label column where that is not the label itself.
struct LabelFormat {
  std::vector<std::int64_t> row_shape;              // of float32
  std::function<Status(std::int64_t label)> check;  // whether it can be written
  std::function<void(std::int64_t label, std::byte* row)> write;
  std::size_t column = 0;  // set with the labels' columns
};

/// The array of rows whose whole numbers are the labels of samples: "label"; or null.
const Array* label_array(const Source& source) noexcept;
/// The label in row `row` of an array that label_array() gave.
std::int64_t label_at(const Array& labels, std::uint64_t row) noexcept;

/// Writes `value` as a T.
template <class T, class Value>
void put_number(std::byte* at, Value value) noexcept {
  const auto number = static_cast<T>(value);
  std::memcpy(at, &number, sizeof(T));
}

/// A column of which rows may stay on the device that has made them, while the batch is filled on the host.
struct RowsThere {
  std::size_t column = 0;
  std::size_t addresses = 0;  // the column that says where on the device each row is, as an int64; 0: in the batch
};

struct BatchColumns {
  BatchLayout layout;
  std::vector<ColumnWriter> writers{};      // in the order in which they are called
  std::vector<ColumnGatherer> gatherers{};  // of records that are rows
  std::optional<LabelFormat> first_label = std::nullopt;
  std::optional<RowsThere> rows_there = std::nullopt;

  /// Adds a column that `write` fills, and returns its place.
  template <class Write>
  std::size_t add(std::string name, Dtype dtype, std::vector<std::int64_t> row_shape, Write write,
                  RecordPart part = kFirstPart) {
    const std::size_t column = layout.add(std::move(name), dtype, std::move(row_shape));
    writers.push_back({column, part, std::move(write)});
    return column;
  }
  /// A column of one number for each sample.
  template <class T, class Value>
  void add_number(std::string name, Dtype dtype, Value value) {
    add(std::move(name), dtype, {}, [=](const Sample& sample, std::byte* row) {
      put_number<T>(row, value(sample));
      return ok_status();
    });
  }

  /// Adds a column for each of the source's arrays.
  void add_arrays(const Source& source);
  /// Adds a column for each label column of the source.
  void add_labels(const Source& source);
  /// "index", "position" and "flags": which samples the rows are.
  void add_origin(const Source& source);

 private:
  void add_label_rows(const Array& labels);
};

}  // namespace drapps
