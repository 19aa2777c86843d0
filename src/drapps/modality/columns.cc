#include "drapps/modality/columns.h"

#include "drapps/kernel/gather.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

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

void BatchColumns::add_arrays(const Source& source) {
  const ArraySource* const rows = source.rows();
  if (rows == nullptr) return;
  for (const Array& array : rows->arrays()) {
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
