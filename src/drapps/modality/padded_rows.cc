#include "drapps/modality/padded_rows.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "drapps/modality/packed_rows.h"

namespace drapps {

PaddedRows::PaddedRows(const PackedTextPart& part, std::size_t sources, BatchLayout& layout)
    : fields_(static_cast<const PackedTextFields&>(part)),
      widths_(part.widths()),
      row_labels_(part),
      budget_(part.packing == text::Fit::kBudget),
      mixed_(sources > 1) {
  const auto room = static_cast<std::int64_t>(budget_ ? fields_.budget : widths_.of(fields_.length));
  ids_ = layout.add_varying("input_ids", Dtype::kInt64, {room}, 2);
  if (row_labels_.any()) labels_ = layout.add_varying("labels", Dtype::kInt64, {room}, 2);
  attention_ = layout.add_varying("attention_mask", Dtype::kInt64, {room}, 2);
  lengths_ = budget_ ? layout.add_varying("lengths", Dtype::kInt64, {room / widths_.of(1)}, 1)
                     : layout.add("lengths", Dtype::kInt64, {});
  if (mixed_) source_ = layout.add("source", Dtype::kInt32, {});
  if (fields_.origins) origins_.emplace(budget_ ? room / widths_.of(1) : 1, budget_, layout);
}

void PaddedRows::write(const text::PackedRow& packed, const RowOrigin& origin, const BatchLayout& layout,
                       std::byte* slot, std::uint32_t row) const {
  auto* const ids = numbers_at<std::int64_t>(layout, slot, ids_, row);
  std::ranges::copy(packed.ids, ids);
  if (row_labels_.any()) {
    row_labels_.write(packed, origin.draws, {ids, packed.used},
                      {numbers_at<std::int64_t>(layout, slot, labels_, row), packed.used});
  }
  if (budget_) {
    write_matrix(packed, layout, slot);
  } else {
    *numbers_at<std::int64_t>(layout, slot, lengths_, row) = static_cast<std::int64_t>(packed.used);
  }
  if (mixed_) *numbers_at<std::int32_t>(layout, slot, source_, row) = static_cast<std::int32_t>(origin.source);
  if (origins_) origins_->write(packed, layout, slot, row);
}

/// Writes the numbers and the padding of a row; `from` may lie in what is still to be filled.
void PaddedRows::put(std::int64_t* data, const Matrix& matrix, std::uint32_t row, const std::int64_t* from,
                     std::int64_t size, std::int64_t fill) const {
  std::int64_t* const begin = data + std::size_t{row} * matrix.width;
  const std::int64_t rest = matrix.width - size;
  std::int64_t* const to = begin + (fields_.pad_left ? rest : 0);
  std::memmove(to, from, static_cast<std::size_t>(size) * sizeof(*from));
  std::fill_n(fields_.pad_left ? begin : begin + size, rest, fill);
}

/// Sequences that stand one behind the other move to their rows, none of which begins before them: the last one first.
/// Where there are none, there is a row of padding.
void PaddedRows::write_matrix(const text::PackedRow& packed, const BatchLayout& layout, std::byte* slot) const {
  auto* const lengths = numbers_at<std::int64_t>(layout, slot, lengths_, 0);
  const auto begin_of = [&](std::uint32_t row) {
    return row < packed.documents.size() ? packed.documents[row] : static_cast<std::uint32_t>(packed.used);
  };
  Matrix matrix{.rows = std::max(1u, static_cast<std::uint32_t>(packed.documents.size()))};
  for (std::uint32_t row = 0; row < matrix.rows; ++row) {
    lengths[row] = begin_of(row + 1) - begin_of(row);
    matrix.width = std::max(matrix.width, static_cast<std::uint32_t>(lengths[row]));
  }
  matrix.width = widths_.of(matrix.width);
  const auto spread = [&](std::size_t column, std::int64_t fill) {
    auto* const data = numbers_at<std::int64_t>(layout, slot, column, 0);
    for (std::uint32_t row = matrix.rows; row-- > 0;) {
      put(data, matrix, row, data + begin_of(row), lengths[row], fill);
    }
  };
  spread(ids_, fields_.pad);
  if (row_labels_.any()) spread(labels_, text::kIgnored);
  mark(layout, slot, matrix);
  layout.set_shape(slot, lengths_, {matrix.rows, 0});
}

void PaddedRows::finish(const BatchLayout& layout, std::byte* slot, std::uint32_t rows) const {
  if (!budget_) gather(layout, slot, rows);
  if (origins_) origins_->finish(layout, slot, rows);
}

/// Rows move to where they stand in a narrower matrix, which is never behind: the first one first.
void PaddedRows::gather(const BatchLayout& layout, std::byte* slot, std::uint32_t rows) const {
  const auto* const lengths = numbers_at<std::int64_t>(layout, slot, lengths_, 0);
  const std::int64_t longest = rows == 0 ? 0 : *std::max_element(lengths, lengths + rows);
  const Matrix matrix{.rows = rows, .width = widths_.of(static_cast<std::uint32_t>(longest))};
  const auto move = [&](std::size_t column, std::int64_t fill) {
    auto* const data = numbers_at<std::int64_t>(layout, slot, column, 0);
    for (std::uint32_t row = 0; row < rows; ++row) {
      put(data, matrix, row, numbers_at<std::int64_t>(layout, slot, column, row), lengths[row], fill);
    }
  };
  move(ids_, fields_.pad);
  if (row_labels_.any()) move(labels_, text::kIgnored);
  mark(layout, slot, matrix);
}

/// Fills the attention mask, and says which shape the columns have.
void PaddedRows::mark(const BatchLayout& layout, std::byte* slot, const Matrix& matrix) const {
  const auto* const lengths = numbers_at<std::int64_t>(layout, slot, lengths_, 0);
  auto* const data = numbers_at<std::int64_t>(layout, slot, attention_, 0);
  for (std::uint32_t row = 0; row < matrix.rows; ++row) {
    std::int64_t* const begin = data + std::size_t{row} * matrix.width;
    const std::int64_t rest = matrix.width - lengths[row];
    std::fill_n(begin, matrix.width, 1);
    std::fill_n(fields_.pad_left ? begin : begin + lengths[row], rest, 0);
  }
  for (const std::size_t column : {ids_, attention_}) layout.set_shape(slot, column, {matrix.rows, matrix.width});
  if (row_labels_.any()) layout.set_shape(slot, labels_, {matrix.rows, matrix.width});
}

std::unique_ptr<const RowWriter> make_row_writer(const PackedTextPart& part, std::size_t sources, BatchLayout& layout) {
  if (part.alone()) return std::make_unique<const PaddedRows>(part, sources, layout);
  return std::make_unique<const PackedRows>(part, sources, layout);
}

}  // namespace drapps
