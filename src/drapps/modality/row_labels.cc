#include "drapps/modality/row_labels.h"

#include <algorithm>

namespace drapps {

RowLabels::RowLabels(const PackedTextPart& part)
    : fields_(static_cast<const PackedTextFields&>(part)),
      masks_(part, part.tokenizer.get(), static_cast<std::uint32_t>(part.tokenizer->vocabulary()),
             {part.bos, part.eos, part.pad}) {}

void RowLabels::write(const text::PackedRow& packed, const Coordinate& draws, std::span<std::int64_t> ids,
                      std::span<std::int64_t> labels) const {
  const std::size_t used = std::min(packed.used, ids.size());
  switch (fields_.labels) {
    case CausalLabels::kNone: return;
    case CausalLabels::kShifted: return shift(packed, labels);
    case CausalLabels::kMasked: masks_.apply(draws, packed.documents, ids.first(used), labels.first(used)); break;
    case CausalLabels::kSame:
      std::ranges::copy(ids.first(used), labels.begin());
      if (!fields_.mask_starts) break;
      for (const std::uint32_t begin : packed.documents) {
        if (begin < used) labels[begin] = text::kIgnored;
      }
      break;
  }
  std::ranges::fill(labels.subspan(used), text::kIgnored);
}

/// Labels each id with the id that follows it: of documents by themselves within the document, else in the row and one
/// beyond.
void RowLabels::shift(const text::PackedRow& packed, std::span<std::int64_t> labels) const {
  const std::size_t learnt = std::min(packed.used - std::min<std::size_t>(packed.used, 1), labels.size());
  std::copy_n(packed.ids.begin() + (packed.used == 0 ? 0 : 1), learnt, labels.begin());
  std::ranges::fill(labels.subspan(learnt), text::kIgnored);
  for (const std::uint32_t begin : packed.documents) {
    const bool ignored = fields_.mask_starts || fields_.alone();
    if (ignored && begin > 0 && begin <= labels.size()) labels[begin - 1] = text::kIgnored;
  }
}

}  // namespace drapps
