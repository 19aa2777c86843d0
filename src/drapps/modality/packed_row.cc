#include "drapps/modality/packed_row.h"

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

PackedRowWriter::PackedRowWriter(const PackedTextFields& fields, std::size_t sources, BatchLayout& layout)
    : fields_(fields), mixed_(sources > 1) {
  const std::vector<std::int64_t> row{fields_.length};
  ids_ = layout.add("input_ids", Dtype::kInt64, row);
  if (fields_.labels != CausalLabels::kNone) labels_ = layout.add("labels", Dtype::kInt64, row);
  if (padded()) attention_ = layout.add("attention_mask", Dtype::kInt64, row);
  if (fields_.positions) positions_ = layout.add("position_ids", Dtype::kInt64, row);
  if (fields_.documents) documents_ = layout.add("document_ids", Dtype::kInt32, row);
  if (mixed_) source_ = layout.add("source", Dtype::kInt32, {});
}

void PackedRowWriter::write(const text::PackedRow& packed, std::uint32_t source, const BatchLayout& layout,
                            std::byte* slot, std::uint32_t row) const {
  std::ranges::copy(packed.ids.first(fields_.length), numbers<std::int64_t>(layout, slot, ids_, row));
  if (fields_.labels != CausalLabels::kNone) write_labels(packed, numbers<std::int64_t>(layout, slot, labels_, row));
  if (padded()) {
    auto* const attention = numbers<std::int64_t>(layout, slot, attention_, row);
    std::fill(attention, attention + end(packed), 1);
    std::fill(attention + end(packed), attention + fields_.length, 0);
  }
  if (fields_.positions) count(packed, numbers<std::int64_t>(layout, slot, positions_, row));
  if (fields_.documents) number(packed, numbers<std::int32_t>(layout, slot, documents_, row));
  if (mixed_) *numbers<std::int32_t>(layout, slot, source_, row) = static_cast<std::int32_t>(source);
}

std::uint32_t PackedRowWriter::end(const text::PackedRow& packed) const {
  return static_cast<std::uint32_t>(std::min<std::size_t>(packed.used, fields_.length));
}

void PackedRowWriter::write_labels(const text::PackedRow& packed, std::int64_t* labels) const {
  const std::size_t ahead = fields_.labels == CausalLabels::kShifted ? 1 : 0;
  std::ranges::copy(packed.ids.subspan(ahead, fields_.length), labels);
  for (const std::uint32_t begin : packed.documents) {
    if (fields_.mask_starts && begin >= ahead) labels[begin - ahead] = PackedTextPart::kIgnored;
  }
  const std::size_t learnt = packed.used - std::min(packed.used, ahead);
  std::fill(labels + std::min<std::size_t>(learnt, fields_.length), labels + fields_.length, PackedTextPart::kIgnored);
}

void PackedRowWriter::count(const text::PackedRow& packed, std::int64_t* out) const {
  each_document(packed, end(packed),
                [&](std::uint32_t begin, std::uint32_t behind) { std::iota(out + begin, out + behind, 0); });
  std::fill(out + end(packed), out + fields_.length, 0);
}

void PackedRowWriter::number(const text::PackedRow& packed, std::int32_t* out) const {
  std::int32_t which = 0;
  each_document(packed, end(packed),
                [&](std::uint32_t begin, std::uint32_t behind) { std::fill(out + begin, out + behind, which++); });
  std::fill(out + end(packed), out + fields_.length, -1);
}

}  // namespace drapps
