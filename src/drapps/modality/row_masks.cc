#include "drapps/modality/row_masks.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace drapps {
namespace {

std::vector<std::int64_t> never_masked(const MaskFields& fields, const text::Tokenizer* tokenizer,
                                       std::vector<std::int64_t> ids) {
  ids.push_back(fields.mask);
  if (tokenizer != nullptr) {
    for (const text::AddedToken& token : tokenizer->added()) {
      if (token.special) ids.push_back(token.id);
    }
  }
  std::ranges::sort(ids);
  return ids;
}

constexpr std::string_view kSpaces = " \t\n\v\f\r";
constexpr std::uint8_t kBefore = 1, kBehind = 2;

/// Whether the text of each id begins or ends with white space.
std::vector<std::uint8_t> spaces_of(const text::Tokenizer* tokenizer) {
  std::vector<std::uint8_t> spaces;
  if (tokenizer == nullptr) return spaces;
  for (std::size_t id = 0; id < tokenizer->vocabulary(); ++id) {
    const auto text = tokenizer->decode({static_cast<std::int64_t>(id)}, false, true);
    spaces.push_back(0);
    if (!text.ok() || text->empty()) continue;
    if (kSpaces.find(text->front()) != std::string_view::npos) spaces.back() |= kBefore;
    if (kSpaces.find(text->back()) != std::string_view::npos) spaces.back() |= kBehind;
  }
  return spaces;
}

}  // namespace

Status check_masks(const MaskFields& fields) {
  const double become = fields.mask_replaced + fields.mask_random;
  if (fields.mask == MaskFields::kNoMask) return invalid("masked labels need the id of the mask");
  if (!(fields.mask_probability >= 0 && fields.mask_probability <= 1)) {
    return invalid("the probability of a mask must be from 0 to 1");
  }
  if (!(fields.mask_replaced >= 0 && fields.mask_random >= 0 && become <= 1)) {
    return invalid("the shares of what becomes the mask, and of what becomes any token, must be at most 1 together");
  }
  return ok_status();
}

RowMasks::RowMasks(const MaskFields& fields, const text::Tokenizer* tokenizer, std::uint32_t vocabulary,
                   std::vector<std::int64_t> never)
    : masking_{.probability = fields.mask_probability,
               .replaced = fields.mask_replaced,
               .random = fields.mask_random,
               .mask_id = fields.mask,
               .vocabulary = vocabulary,
               .whole_words = fields.mask_words && tokenizer != nullptr},
      special_(never_masked(fields, tokenizer, std::move(never))),
      spaces_(spaces_of(masking_.whole_words ? tokenizer : nullptr)) {}

void RowMasks::apply(const Coordinate& draws, std::span<const std::uint32_t> documents, std::span<std::int64_t> ids,
                     std::span<std::int64_t> labels) const {
  if (ids.empty()) return;
  const auto special = text::special_mask(ids, special_);
  const auto words = masking_.whole_words ? words_of(documents, ids) : std::vector<std::int64_t>();
  text::mask_tokens({.ids = ids, .labels = labels, .special = special, .places = words, .width = ids.size()}, masking_,
                    draws);
}

/// Places as mask_tokens() has them: there is a gap where a word begins, behind white space or with a document.
std::vector<std::int64_t> RowMasks::words_of(std::span<const std::uint32_t> documents,
                                             std::span<const std::int64_t> ids) const {
  std::vector<std::int64_t> places(2 * ids.size());
  const auto side = [this](std::int64_t id, std::uint8_t which) {
    return static_cast<std::size_t>(id) < spaces_.size() && (spaces_[static_cast<std::size_t>(id)] & which) != 0;
  };
  auto document = documents.begin();
  std::int64_t word = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const bool first = document != documents.end() && *document == i;
    if (first) ++document;
    if (first || side(ids[i], kBefore) || (i > 0 && side(ids[i - 1], kBehind))) ++word;
    places[2 * i] = places[2 * i + 1] = word;
  }
  return places;
}

}  // namespace drapps
