#include "drapps/modality/packed_text.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "drapps/modality/json_fields.h"
#include "drapps/modality/packed_text_plan.h"
#include "drapps/modality/row_deal.h"
#include "drapps/text/corpus/text_source.h"
#include "drapps/text/pack/parts.h"
#include "drapps/text/pack/token_packer.h"

namespace drapps {
namespace {

using text::TokenId;

constexpr std::uint32_t kLongestRow = 1u << 24;
constexpr std::uint64_t kMostOfBatch = 1u << 26;

/// What only documents by themselves have.
Status check_alone(const PackedTextFields& fields) {
  if (!fields.alone()) return ok_status();
  const auto room = static_cast<std::int32_t>(text::room_of(packing_of(fields)));
  if (room <= 0 || fields.overlap >= static_cast<std::uint32_t>(room)) {
    return invalid("length=" + std::to_string(fields.length) + " has no room for more than the " +
                   std::to_string(fields.overlap) +
                   " ids of the overlap, beside what marks a part's beginning and end");
  }
  if (fields.multiple == 0 || fields.multiple > kLongestRow) return invalid("multiple must be at least 1");
  if (!std::ranges::is_sorted(fields.lengths) || (!fields.lengths.empty() && fields.lengths.front() == 0)) {
    return invalid("lengths must ascend, from 1 on");
  }
  if (!fields.lengths.empty() && fields.lengths.back() < fields.length) {
    return invalid("lengths end at " + std::to_string(fields.lengths.back()) + ", and a row may have " +
                   std::to_string(fields.length) + " ids; declare that, too");
  }
  const std::uint32_t widest = fields.widths().of(fields.length);
  if (widest > kLongestRow) return invalid("rows are padded to more than " + std::to_string(kLongestRow) + " ids");
  if (fields.packing == text::Fit::kBudget && (fields.budget < widest || fields.budget > kMostOfBatch)) {
    return invalid("a budget of " + std::to_string(fields.budget) + " tokens must be from " + std::to_string(widest) +
                   ", the longest row, to " + std::to_string(kMostOfBatch));
  }
  return ok_status();
}

/// What rows of ids that were written before cannot have.
Status check_tokens(const PackedTextFields& fields, const text::TokenSet& set) {
  if (fields.packing != text::Fit::kConcatenate || fields.take != text::Take::kAll || fields.bos != fields.kNoId) {
    return invalid("ids of " + set.path(0) +
                   " were written before: their rows are concatenated, without bos, and none are held out");
  }
  if (rows_of(set, packing_of(fields)) == 0) {
    return invalid(set.path(0) + " has less than one row of " + std::to_string(fields.length) + " ids");
  }
  const bool by_document = fields.mask_starts || fields.positions || fields.documents || fields.cu_seqlens;
  if (by_document && set.options().documents == text::DocumentsBy::kNothing) {
    return invalid("nothing says where documents begin in " + set.path(0) + "; name eos= of its files");
  }
  return ok_status();
}

}  // namespace

Result<std::shared_ptr<const PartSpec>> PackedTextPart::parse(const nlohmann::json& fields, const std::string& where,
                                                              const std::shared_ptr<const Attachment>& attached) {
  PackedTextFields read;
  JsonReader reader(fields, where);
  read.fields(reader);
  DRAPPS_RETURN_IF_ERROR(reader.status());
  const auto tokenizer = std::dynamic_pointer_cast<const TokenizerAttachment>(attached);
  if (tokenizer == nullptr) return invalid(where + " needs a tokenizer beside the description");
  return std::shared_ptr<const PartSpec>(std::make_shared<PackedTextPart>(read, tokenizer->tokenizer));
}

nlohmann::json PackedTextPart::to_json() const {
  auto described = static_cast<const PackedTextFields&>(*this);
  JsonWriter writer;
  described.fields(writer);
  return std::move(writer).take();
}

Result<std::shared_ptr<PartPlan>> PackedTextPart::plan(const std::string& name, std::size_t place,
                                                       const Source& source) const {
  const auto* const of_text = dynamic_cast<const text::TextSource*>(&source);
  if (of_text == nullptr) return invalid(name + " is packed text, and the source has no documents; use a text source");
  if (length == 0 || length > kLongestRow) {
    return invalid("length=" + std::to_string(length) + " must be from 1 to " + std::to_string(kLongestRow));
  }
  if (window == 0) return invalid("window must be at least 1");
  DRAPPS_RETURN_IF_ERROR(check_alone(*this));
  if (labels == CausalLabels::kMasked) DRAPPS_RETURN_IF_ERROR(check_masks(*this));
  if (ends && !weights.empty()) return invalid("the sources of a mixture do not end together; say how many rows");
  if (!(held_out >= 0 && held_out <= 1)) return invalid("held_out must be a share from 0 to 1");
  const std::size_t sources = of_text->sets().size();
  for (const text::TextSet& set : of_text->sets()) {
    if (set.tokens != nullptr) DRAPPS_RETURN_IF_ERROR(check_tokens(*this, *set.tokens));
  }
  if (weights.size() != sources && (sources > 1 || !weights.empty())) {
    return invalid("there are " + std::to_string(weights.size()) + " weights for " + std::to_string(sources) +
                   " sources of text; give one for each");
  }
  std::uint64_t total = 0;
  for (const std::uint32_t weight : weights) {
    if (weight == 0) return invalid("a source of weight 0 has no rows; leave it out");
    total += weight;
  }
  if (total > RowDeal::kMostWeight) {
    return invalid("the weights of the sources add up to " + std::to_string(total) + ", more than " +
                   std::to_string(RowDeal::kMostWeight) + "; use rounder shares");
  }
  const text::TextSet& first = of_text->sets().front();
  const std::uint64_t most_splits = most_splits_of(first, *this);
  if (sources == 1 && splits > most_splits) {
    const bool numbered = first.corpus != nullptr && first.corpus->index() != nullptr;
    return invalid("splits=" + std::to_string(splits) + " is more than the " + std::to_string(most_splits) +
                   (numbered ? " times " + std::to_string(text::Corpus::kLeastDocuments) + " documents" : " blocks") +
                   " that the files have; use fewer");
  }
  for (const auto& [field, id] :
       {std::pair("bos", bos), std::pair("eos", eos), std::pair("pad", pad), std::pair("mask", mask)}) {
    if (id < kNoId || id > std::numeric_limits<TokenId>::max()) {
      return invalid(std::string(field) + "=" + std::to_string(id) + " is no id");
    }
  }
  return make_packed_text_plan(place, *this, *of_text);
}

}  // namespace drapps
