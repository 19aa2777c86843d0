#include "drapps/modality/row_labels.h"

#include <algorithm>
#include <string_view>

namespace drapps {
namespace {

std::vector<std::int64_t> never_masked(const PackedTextPart& part) {
  std::vector<std::int64_t> ids{part.bos, part.eos, part.pad, part.mask};
  for (const text::AddedToken& token : part.tokenizer->added()) {
    if (token.special) ids.push_back(token.id);
  }
  std::ranges::sort(ids);
  return ids;
}

constexpr std::string_view kSpaces = " \t\n\v\f\r";
constexpr std::uint8_t kBefore = 1, kBehind = 2;

/// Whether the text of each id begins or ends with white space.
std::vector<std::uint8_t> spaces_of(const PackedTextPart& part) {
  std::vector<std::uint8_t> spaces;
  if (part.labels != CausalLabels::kMasked || !part.mask_words) return spaces;
  for (std::size_t id = 0; id < part.tokenizer->vocabulary(); ++id) {
    const auto text = part.tokenizer->decode({static_cast<std::int64_t>(id)}, false, true);
    spaces.push_back(0);
    if (!text.ok() || text->empty()) continue;
    if (kSpaces.find(text->front()) != std::string_view::npos) spaces.back() |= kBefore;
    if (kSpaces.find(text->back()) != std::string_view::npos) spaces.back() |= kBehind;
  }
  return spaces;
}

}  // namespace

RowLabels::RowLabels(const PackedTextPart& part)
    : fields_(static_cast<const PackedTextFields&>(part)),
      masking_{.probability = part.mask_probability,
               .replaced = part.mask_replaced,
               .random = part.mask_random,
               .mask_id = part.mask,
               .vocabulary = static_cast<std::uint32_t>(part.tokenizer->vocabulary()),
               .whole_words = part.mask_words},
      special_(never_masked(part)),
      spaces_(spaces_of(part)) {}

void RowLabels::write(const text::PackedRow& packed, const Coordinate& draws, std::span<std::int64_t> ids,
                      std::span<std::int64_t> labels) const {
  const std::size_t used = std::min(packed.used, ids.size());
  switch (fields_.labels) {
    case CausalLabels::kNone: return;
    case CausalLabels::kShifted: return shift(packed, labels);
    case CausalLabels::kMasked: mask(packed, draws, ids.first(used), labels.first(used)); break;
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

void RowLabels::mask(const text::PackedRow& packed, const Coordinate& draws, std::span<std::int64_t> ids,
                     std::span<std::int64_t> labels) const {
  if (ids.empty()) return;
  const auto special = text::special_mask(ids, special_);
  const auto words = masking_.whole_words ? words_of(packed, ids) : std::vector<std::int64_t>();
  text::mask_tokens({.ids = ids, .labels = labels, .special = special, .places = words, .width = ids.size()}, masking_,
                    draws);
}

/// Places as mask_tokens() has them: there is a gap where a word begins, behind white space or with a document.
std::vector<std::int64_t> RowLabels::words_of(const text::PackedRow& packed, std::span<const std::int64_t> ids) const {
  std::vector<std::int64_t> places(2 * ids.size());
  const auto side = [this](std::int64_t id, std::uint8_t which) {
    return static_cast<std::size_t>(id) < spaces_.size() && (spaces_[static_cast<std::size_t>(id)] & which) != 0;
  };
  auto document = packed.documents.begin();
  std::int64_t word = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool first = document != packed.documents.end() && *document == i;
    if (first) ++document;
    if (first || side(ids[i], kBefore) || (i > 0 && side(ids[i - 1], kBehind))) ++word;
    places[2 * i] = places[2 * i + 1] = word;
  }
  return places;
}

/// The id that follows each: of documents by themselves within the document, else in the row and one beyond.
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
