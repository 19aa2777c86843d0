#include "drapps/modality/packed_rows.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace drapps {
namespace {

/// Calls with each document's first id and the one behind its last; a row may begin within one.
template <class Each>
void each_document(const text::PackedRow& packed, std::uint32_t end, const Each& each) {
  std::uint32_t begin = 0;
  for (const std::uint32_t next : packed.documents) {
    if (next > begin && next < end) {
      each(begin, next);
      begin = next;
    }
  }
  each(begin, end);
}

}  // namespace

PackedRows::PackedRows(const PackedTextPart& part, std::size_t sources, BatchLayout& layout)
    : fields_(static_cast<const PackedTextFields&>(part)), row_labels_(part), mixed_(sources > 1) {
  const std::vector<std::int64_t> row{fields_.length};
  ids_ = layout.add("input_ids", Dtype::kInt64, row);
  if (row_labels_.any()) labels_ = layout.add("labels", Dtype::kInt64, row);
  if (padded()) attention_ = layout.add("attention_mask", Dtype::kInt64, row);
  if (fields_.positions) positions_ = layout.add("position_ids", Dtype::kInt64, row);
  if (fields_.documents) documents_ = layout.add("document_ids", Dtype::kInt32, row);
  if (fields_.cu_seqlens) {
    ends_ = layout.add_varying("cu_seqlens", Dtype::kInt32, {fields_.length + std::int64_t{1}}, 1);
    longest_ = layout.add_varying("max_seqlen", Dtype::kInt32, {}, 0);
  }
  if (mixed_) source_ = layout.add("source", Dtype::kInt32, {});
  if (fields_.origins) origins_.emplace(fields_.length + std::int64_t{1}, false, layout);
}

void PackedRows::write(const text::PackedRow& packed, const RowOrigin& origin, const BatchLayout& layout,
                       std::byte* slot, std::uint32_t row) const {
  auto* const ids = numbers_at<std::int64_t>(layout, slot, ids_, row);
  std::ranges::copy(packed.ids.first(fields_.length), ids);
  if (row_labels_.any()) {
    row_labels_.write(packed, origin.draws, {ids, fields_.length},
                      {numbers_at<std::int64_t>(layout, slot, labels_, row), fields_.length});
  }
  if (padded()) {
    auto* const attention = numbers_at<std::int64_t>(layout, slot, attention_, row);
    std::fill(attention, attention + end(packed), 1);
    std::fill(attention + end(packed), attention + fields_.length, 0);
  }
  if (fields_.positions) count(packed, numbers_at<std::int64_t>(layout, slot, positions_, row));
  if (fields_.documents) number(packed, numbers_at<std::int32_t>(layout, slot, documents_, row));
  if (fields_.cu_seqlens) {
    list_ends(packed, numbers_at<std::int32_t>(layout, slot, ends_, row),
              numbers_at<std::int32_t>(layout, slot, longest_, row));
  }
  if (mixed_) *numbers_at<std::int32_t>(layout, slot, source_, row) = static_cast<std::int32_t>(origin.source);
  if (origins_) origins_->write(packed, layout, slot, row);
}

std::uint32_t PackedRows::end(const text::PackedRow& packed) const {
  return static_cast<std::uint32_t>(std::min<std::size_t>(packed.used, fields_.length));
}

void PackedRows::count(const text::PackedRow& packed, std::int64_t* out) const {
  each_document(packed, end(packed),
                [&](std::uint32_t begin, std::uint32_t behind) { std::iota(out + begin, out + behind, 0); });
  std::fill(out + end(packed), out + fields_.length, 0);
}

void PackedRows::number(const text::PackedRow& packed, std::int32_t* out) const {
  std::int32_t which = 0;
  each_document(packed, end(packed),
                [&](std::uint32_t begin, std::uint32_t behind) { std::fill(out + begin, out + behind, which++); });
  std::fill(out + end(packed), out + fields_.length, -1);
}

/// How many sequences the row has, and where in it each ends; its padding is one of them.
void PackedRows::list_ends(const text::PackedRow& packed, std::int32_t* ends, std::int32_t* longest) const {
  std::int32_t count = 0;
  *longest = 0;
  const auto add = [&](std::uint32_t begin, std::uint32_t behind) {
    if (begin == behind) return;
    ends[++count] = static_cast<std::int32_t>(behind);
    *longest = std::max(*longest, static_cast<std::int32_t>(behind - begin));
  };
  each_document(packed, end(packed), add);
  add(end(packed), fields_.length);
  ends[0] = count;
}

void PackedRows::finish(const BatchLayout& layout, std::byte* slot, std::uint32_t rows) const {
  if (fields_.cu_seqlens) join_ends(layout, slot, rows);
  if (origins_) origins_->finish(layout, slot, rows);
}

/// What the rows have listed becomes one list. It grows by no more than a row's room has, so none is overwritten that
/// is still to be read.
void PackedRows::join_ends(const BatchLayout& layout, std::byte* slot, std::uint32_t rows) const {
  auto* const all = numbers_at<std::int32_t>(layout, slot, ends_, 0);
  auto* const longest = numbers_at<std::int32_t>(layout, slot, longest_, 0);
  std::int32_t* next = all;
  for (std::uint32_t row = 0; row < rows; ++row) {
    const std::int32_t* const ends = numbers_at<std::int32_t>(layout, slot, ends_, row);
    const std::int32_t count = ends[0];
    if (row == 0) *next++ = 0;
    for (std::int32_t i = 1; i <= count; ++i) {
      *next++ = ends[i] + static_cast<std::int32_t>(row * fields_.length);
    }
    *longest = std::max(*longest, longest[row]);
  }
  layout.set_shape(slot, ends_, {next - all, 0});
  layout.set_shape(slot, longest_, {});
}

}  // namespace drapps
