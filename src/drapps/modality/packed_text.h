// Text as rows of ids: documents one behind the other, cut into rows of equal length, or each by itself and padded.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "drapps/augment/picture/fields.h"
#include "drapps/base/attachment.h"
#include "drapps/modality/mask_fields.h"
#include "drapps/modality/modality.h"
#include "drapps/text/pack/packing.h"
#include "drapps/text/tokenizer.h"

namespace drapps {

/// What stands in the column "labels".
enum class CausalLabels : std::uint8_t {
  kNone,     // there is no such column
  kSame,     // the ids themselves: the model compares its output at i with the label at i + 1
  kShifted,  // the id that follows: the model compares its output at i with the label at i
  kMasked,   // those of some ids, in whose place stands something else: masked language modelling
};
template <>
struct EnumNames<CausalLabels> {
  static constexpr std::array<std::string_view, 4> kNames{"none", "same", "shifted", "masked"};
};

template <>
struct EnumNames<text::Take> {
  static constexpr std::array<std::string_view, 3> kNames{"all", "training", "held_out"};
};

template <>
struct EnumNames<text::Fit> {
  static constexpr std::array<std::string_view, 4> kNames{"concatenate", "best_fit", "documents", "budget"};
};

struct PackedTextFields : MaskFields {
  static constexpr std::int64_t kNoId = -1;

  text::Fit packing = text::Fit::kConcatenate;
  std::int64_t pad = 0;      // the id of padding, which best fit needs; its rows have a column "attention_mask"
  std::uint32_t length = 0;  // ids of a row, or the most of them
  CausalLabels labels = CausalLabels::kSame;
  bool mask_starts = false;  // a label is -100 where it is the first id of a document
  bool positions = false;    // a column "position_ids", which count from 0 in each document of a row
  bool documents = false;    // a column "document_ids", which count the documents of a row
  std::int64_t bos = kNoId;  // before each document
  std::int64_t eos = kNoId;  // behind each document
  std::uint32_t splits = 0;  // of one source, or for each unit of weight of several; 0: by the number of blocks
  std::vector<std::uint32_t> weights;  // of sources, whose shares of the rows they say; none for one source
  std::uint32_t window = 4;            // MiB, about, in which documents are in one order
  text::Take take = text::Take::kAll;
  double held_out = 0;      // the share of documents that are, by their hash
  bool ends = false;        // rows behind the last document of an epoch are padding; these too have an "attention_mask"
  bool origins = false;     // "documents", as OriginList has them
  bool cu_seqlens = false;  // "cu_seqlens", where in the batch sequences end, and "max_seqlen"

  // Of documents by themselves.
  std::uint32_t overlap = 0;  // as Packing has them
  bool truncate = false;
  std::uint64_t budget = 0;
  std::uint32_t multiple = 1;  // as text::Widths
  std::vector<std::uint32_t> lengths;
  bool pad_left = false;

  bool alone() const noexcept { return packing == text::Fit::kDocuments || packing == text::Fit::kBudget; }
  text::Widths widths() const { return {.multiple = multiple, .lengths = lengths}; }

  template <class V>
  void fields(V& v) {
    v("packing", packing);
    v("pad", pad);
    v("length", length);
    v("labels", labels);
    v("mask_starts", mask_starts);
    v("positions", positions);
    v("documents", documents);
    v("bos", bos);
    v("eos", eos);
    v("splits", splits);
    v("weights", weights);
    v("window", window);
    v("take", take);
    v("held_out", held_out);
    v("ends", ends);
    v("origins", origins);
    v("cu_seqlens", cu_seqlens);
    v("overlap", overlap);
    v("truncate", truncate);
    v("budget", budget);
    v("multiple", multiple);
    v("lengths", lengths);
    v("pad_left", pad_left);
    mask_fields(v);  // with CausalLabels::kMasked
  }
};

/// The tokenizer of a description.
struct TokenizerAttachment final : Attachment {
  explicit TokenizerAttachment(std::shared_ptr<const text::Tokenizer> of) : tokenizer(std::move(of)) {}
  const std::shared_ptr<const text::Tokenizer> tokenizer;
};

/// A batch has "input_ids", int64 of [rows, length], and the columns that the fields ask for. Of documents by
/// themselves the length is what the batch needs, "attention_mask" and "lengths" are beside it, and with a budget the
/// number of rows is another in each batch, of which the runner counts one row.
struct PackedTextPart final : PartSpec, PackedTextFields {
  static constexpr std::string_view kModality = "packed_text";
  static constexpr std::int64_t kIgnored = -100;  // the label of what is not learnt

  PackedTextPart(const PackedTextFields& fields, std::shared_ptr<const text::Tokenizer> of)
      : PackedTextFields(fields), tokenizer(std::move(of)) {}
  static Result<std::shared_ptr<const PartSpec>> parse(const nlohmann::json& fields, const std::string& where,
                                                       const std::shared_ptr<const Attachment>& attached);
  std::string_view modality() const noexcept override { return kModality; }
  nlohmann::json to_json() const override;
  Result<std::shared_ptr<PartPlan>> plan(const std::string& name, std::size_t place,
                                         const Source& source) const override;

  const std::shared_ptr<const text::Tokenizer> tokenizer;
};

}  // namespace drapps
