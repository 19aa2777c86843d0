#include "drapps/modality/columns.h"

#include "drapps/kernel/gather.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

/// Calls `as` with a T where the dtype's elements are whole numbers that fit int64; whether they are.
template <class As>
bool with_whole(Dtype dtype, As as) {
  switch (dtype) {
    case Dtype::kUint8: as(std::uint8_t{}); return true;
    case Dtype::kInt8: as(std::int8_t{}); return true;
    case Dtype::kInt16: as(std::int16_t{}); return true;
    case Dtype::kUint16: as(std::uint16_t{}); return true;
    case Dtype::kInt32: as(std::int32_t{}); return true;
    case Dtype::kUint32: as(std::uint32_t{}); return true;
    case Dtype::kInt64: as(std::int64_t{}); return true;
    default: return false;
  }
}

/// A column of one number for each row, of a sample or of row i of a run.
template <class T, class OfSample, class OfRow>
void add_number(BatchColumns& columns, bool is_rows, const char* name, Dtype dtype, OfSample of_sample, OfRow of_row) {
  if (!is_rows) return columns.add_number<T>(name, dtype, of_sample);
  columns.gatherers.push_back(
      {columns.layout.add(name, dtype, {}), [=](const RowRun& run, std::size_t& next, std::byte* first) {
         for (; next < run.records.size(); ++next) put_number<T>(first + sizeof(T) * next, of_row(run, next));
         return ok_status();
       }});
}

}  // namespace

const Array* label_array(const Source& source) noexcept {
  if (source.rows() == nullptr) return nullptr;
  for (const Array& array : source.rows()->arrays()) {
    const bool whole = with_whole(array.dtype, [](auto) {});
    if (array.name == "label" && array.row_shape.empty() && whole) return &array;
  }
  return nullptr;
}

std::int64_t label_at(const Array& labels, std::uint64_t row) noexcept {
  std::int64_t label = 0;
  with_whole(labels.dtype, [&]<class T>(T number) {
    std::memcpy(&number, labels.data + static_cast<std::ptrdiff_t>(row) * labels.stride, sizeof(T));
    label = static_cast<std::int64_t>(number);  // NOLINT(bugprone-signed-char-misuse): it is a number
  });
  return label;
}

void BatchColumns::add_arrays(const Source& source) {
  const ArraySource* const rows = source.rows();
  if (rows == nullptr) return;
  const Array* const labels = first_label ? label_array(source) : nullptr;
  for (const Array& array : rows->arrays()) {
    if (&array == labels) {
      add_label_rows(array);
      continue;
    }
    const std::size_t column = layout.add(array.name, array.dtype, array.row_shape);
    gatherers.push_back(
        {column,
         [&array, bytes = layout.columns()[column].row_bytes](const RowRun& run, std::size_t& next, std::byte* first) {
           kernel::gather_rows(first + bytes * next, array.data, array.stride, bytes, run.rows.subspan(next));
           next = run.rows.size();
           return ok_status();
         },
         &array});
  }
}

/// Labels of rows in the place of which `first_label` writes something else.
void BatchColumns::add_label_rows(const Array& labels) {
  if (!first_label) return;
  first_label->column = layout.add(labels.name, Dtype::kFloat32, first_label->row_shape);
  const std::size_t bytes = layout.columns()[first_label->column].row_bytes;
  gatherers.push_back({first_label->column,
                       [&labels, bytes, check = first_label->check, write = first_label->write](
                           const RowRun& run, std::size_t& next, std::byte* first) -> Status {
                         for (; next < run.rows.size(); ++next) {
                           // The user may have written to the array since it was looked at.
                           const std::int64_t label = label_at(labels, run.rows[next]);
                           DRAPPS_RETURN_IF_ERROR(check(label));
                           write(label, first + bytes * next);
                         }
                         return ok_status();
                       }});
}

void BatchColumns::add_labels(const Source& source) {
  const auto& labels = source.targets().labels;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::vector<std::int64_t>& values = labels[i].values;
    if (i == 0 && first_label) {
      first_label->column = add(labels[i].name, Dtype::kFloat32, first_label->row_shape,
                                [&values, write = first_label->write](const Sample& sample, std::byte* row) {
                                  write(values[sample.asked.record], row);
                                  return ok_status();
                                });
    } else {
      add_number<std::int64_t>(labels[i].name, Dtype::kInt64,
                               [&values](const Sample& sample) { return values[sample.asked.record]; });
    }
  }
}

void BatchColumns::add_origin(const Source& source) {
  const bool rows = source.rows() != nullptr;
  drapps::add_number<std::int64_t>(
      *this, rows, "index", Dtype::kInt64, [](const Sample& sample) { return sample.asked.record; },
      [](const RowRun& run, std::size_t i) { return run.records[i]; });
  drapps::add_number<std::int64_t>(
      *this, rows, "position", Dtype::kInt64, [](const Sample& sample) { return sample.asked.row.position; },
      [](const RowRun& run, std::size_t i) { return run.first_position + i; });
  drapps::add_number<std::uint8_t>(
      *this, rows, "flags", Dtype::kUint8,
      [](const Sample& sample) {
        return (sample.asked.row.padded ? kFlagPadded : 0) | (sample.asked.replaced ? kFlagReplaced : 0);
      },
      [](const RowRun& run, std::size_t i) { return i < run.real ? std::uint8_t{0} : kFlagPadded; });
}

}  // namespace drapps
