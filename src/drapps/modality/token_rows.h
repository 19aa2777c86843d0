// Rows of token ids that were written before, cut from documents that stand one behind the other.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drapps/modality/mask_fields.h"
#include "drapps/modality/modality.h"
#include "drapps/modality/packed_text.h"
#include "drapps/text/tokens/token_source.h"

namespace drapps {

enum class TokenPacking : std::uint8_t {
  kConcatenate,  // all ids, one behind the other
  kDocuments,    // a row for each document, which is cut or filled up with padding
};
template <>
struct EnumNames<TokenPacking> {
  static constexpr std::array<std::string_view, 2> kNames{"concatenate", "documents"};
};

struct TokenRowsFields : MaskFields {
  TokenPacking packing = TokenPacking::kConcatenate;
  std::int64_t pad = 0;      // the id of padding, with kDocuments, whose rows have a column "attention_mask"
  std::uint32_t length = 0;  // ids of a row
  CausalLabels labels = CausalLabels::kSame;
  bool mask_starts = false;           // a label is -100 where it is the first id of a document
  bool positions = false;             // a column "position_ids", which count from 0 in each document of a row
  bool documents = false;             // a column "document_ids", which count the documents of a row
  std::vector<std::int64_t> special;  // ids that are never masked, with CausalLabels::kMasked

  template <class V>
  void fields(V& v) {
    v("packing", packing);
    v("pad", pad);
    v("length", length);
    v("labels", labels);
    v("mask_starts", mask_starts);
    v("positions", positions);
    v("documents", documents);
    v("special", special);
    mask_fields(v);
  }
  /// Whether it must be known where documents begin.
  bool by_document() const noexcept { return mask_starts || positions || documents || of_documents(); }
  bool masked() const noexcept { return labels == CausalLabels::kMasked; }
  bool of_documents() const noexcept { return packing == TokenPacking::kDocuments; }
  /// What a source must give of each row.
  text::TokenRow row(text::DocumentsBy documents_by) const noexcept {
    const bool shifted = labels == CausalLabels::kShifted;
    const bool behind = mask_starts && labels == CausalLabels::kSame && documents_by == text::DocumentsBy::kEos;
    return {.length = length, .ahead = shifted ? 1u : 0u, .behind = behind ? 1u : 0u, .documents = of_documents()};
  }
};

/// A batch has "input_ids", int64 of [rows, length], and the columns that the fields ask for. The records are those of
/// a text::TokenSource.
struct TokenRowsPart final : PartSpec, TokenRowsFields {
  static constexpr std::string_view kModality = "token_rows";

  /// @param of  whose ids they are, which masks of whole words need; or null.
  explicit TokenRowsPart(const TokenRowsFields& fields, std::shared_ptr<const text::Tokenizer> of)
      : TokenRowsFields(fields), tokenizer(std::move(of)) {}
  static Result<std::shared_ptr<const PartSpec>> parse(const nlohmann::json& fields, const std::string& where,
                                                       const std::shared_ptr<const Attachment>& attached);
  std::string_view modality() const noexcept override { return kModality; }
  nlohmann::json to_json() const override;
  Result<std::shared_ptr<PartPlan>> plan(const std::string& name, std::size_t place,
                                         const Source& source) const override;

  const std::shared_ptr<const text::Tokenizer> tokenizer;
};

}  // namespace drapps
