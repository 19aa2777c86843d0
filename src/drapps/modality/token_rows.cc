#include "drapps/modality/token_rows.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "drapps/data/buffer.h"
#include "drapps/kernel/widen.h"
#include "drapps/modality/columns.h"
#include "drapps/modality/json_fields.h"
#include "drapps/modality/row_masks.h"

namespace drapps {
namespace {

using text::DocumentsBy;
using text::TokenPiece;
using text::TokenRow;
using text::TokenSet;

constexpr std::uint32_t kMostIds = 1u << 24;

/// Ids of a row that lie side by side, and are read.
struct ReadPiece {
  TokenPiece of;
  const std::uint8_t* bytes = nullptr;
};

struct TokenRowState final : PartState {
  explicit TokenRowState(MemoryLedger& of) : ledger(of) {}
  void reset() noexcept override {
    pieces = {};
    documents = {};
    std::vector<Buffer>().swap(buffers);
    ids_column = {};
    labels_column = {};
  }
  MemoryLedger& ledger;
  std::vector<ReadPiece> pieces;         // the first may begin with an id before the row
  std::uint64_t before = 0;              // ids before the row, in the first piece
  std::uint64_t ids = 0;                 // of the row, and ahead of it
  std::vector<std::uint32_t> documents;  // places in the row, and behind it as far as `ahead`, where documents begin
  std::vector<Buffer> buffers;           // of the pieces but the first
  std::vector<std::int64_t> ids_column, labels_column;  // of a row with masks
};

template <class T>
void find(const std::uint8_t* bytes, std::uint64_t ids, std::uint64_t wanted, std::int64_t place,
          std::vector<std::uint32_t>& behind) {
  const auto value = static_cast<T>(wanted);
  if (value != wanted) return;
  for (std::uint64_t i = 0; i < ids; ++i) {
    T id;
    std::memcpy(&id, bytes + i * sizeof(T), sizeof(T));
    if (id == value) behind.push_back(static_cast<std::uint32_t>(place + static_cast<std::int64_t>(i) + 1));
  }
}

/// Adds the places behind every id that is `wanted`.
/// @param place  of the first id.
void find_all(const ReadPiece& piece, std::uint64_t wanted, std::int64_t place, std::vector<std::uint32_t>& behind) {
  switch (size_of(piece.of.dtype)) {
    case 1: return find<std::uint8_t>(piece.bytes, piece.of.ids, wanted, place, behind);
    case 2: return find<std::uint16_t>(piece.bytes, piece.of.ids, wanted, place, behind);
    case 4: return find<std::uint32_t>(piece.bytes, piece.of.ids, wanted, place, behind);
    default: return find<std::uint64_t>(piece.bytes, piece.of.ids, wanted, place, behind);
  }
}

/// The number that all ids are below; 0 where nothing says.
std::uint64_t vocabulary_of(const TokenRowsPart& part, const TokenSet& set) {
  return part.tokenizer != nullptr ? part.tokenizer->vocabulary() : set.options().vocabulary;
}

/// What masks need that rows of ids do not say by themselves.
Status check_token_masks(const TokenRowsPart& part, const TokenSet& set) {
  DRAPPS_RETURN_IF_ERROR(check_masks(part));
  if (part.mask_words && part.tokenizer == nullptr) {
    return invalid("words are found by the texts of tokens, and ids have none; give the tokenizer that made them");
  }
  const std::uint64_t vocabulary = vocabulary_of(part, set);
  if (vocabulary > std::numeric_limits<std::uint32_t>::max()) return invalid("a vocabulary has at most 2^32 - 1 ids");
  if (vocabulary == 0 && part.mask_random > 0) {
    return invalid("some of the masked become random tokens, and nothing says which there are; give the vocabulary");
  }
  if (vocabulary > 0 && static_cast<std::uint64_t>(part.mask) >= vocabulary) {
    return invalid("the mask's id " + std::to_string(part.mask) + " is none of the vocabulary");
  }
  return ok_status();
}

class TokenRowsPlan final : public PartPlan {
 public:
  TokenRowsPlan(std::size_t place, const TokenRowsPart& part, const text::TokenSource& source)
      : PartPlan(place), fields_(part), source_(source), set_(source.set()), row_(source.row()) {
    if (!fields_.masked()) return;
    const std::uint64_t vocabulary = vocabulary_of(part, *set_);
    masks_.emplace(part, part.tokenizer.get(), static_cast<std::uint32_t>(vocabulary), part.special);
    lists_documents_ = part.mask_words && set_->options().documents != DocumentsBy::kNothing;
  }

  Status add_columns(BatchColumns& columns) override {
    const std::vector<std::int64_t> row{fields_.length};
    columns.add("input_ids", Dtype::kInt64, row, [this](const Sample& sample, std::byte* out) {
      auto* const ids = reinterpret_cast<std::int64_t*>(out);
      if (!masks_) return put(state(sample), 0, fields_.pad, ids);
      std::ranges::copy(state(sample).ids_column, ids);
      return ok_status();
    });
    if (fields_.labels != CausalLabels::kNone) {
      columns.add("labels", Dtype::kInt64, row, [this](const Sample& sample, std::byte* out) {
        auto* const labels = reinterpret_cast<std::int64_t*>(out);
        if (!masks_) return label(state(sample), labels);
        std::ranges::copy(state(sample).labels_column, labels);
        return ok_status();
      });
    }
    if (fields_.of_documents()) {
      columns.add("attention_mask", Dtype::kInt64, row, [this](const Sample& sample, std::byte* out) {
        auto* const numbers = reinterpret_cast<std::int64_t*>(out);
        std::fill(numbers, numbers + end(state(sample)), 1);
        std::fill(numbers + end(state(sample)), numbers + fields_.length, 0);
        return ok_status();
      });
    }
    if (fields_.positions) {
      columns.add("position_ids", Dtype::kInt64, row, [this](const Sample& sample, std::byte* out) {
        auto* const numbers = reinterpret_cast<std::int64_t*>(out);
        each_document(state(sample), [=](std::uint32_t begin, std::uint32_t end) {
          std::iota(numbers + begin, numbers + end, std::int64_t{0});
        });
        std::fill(numbers + end(state(sample)), numbers + fields_.length, 0);
        return ok_status();
      });
    }
    if (fields_.documents) {
      columns.add("document_ids", Dtype::kInt32, row, [this](const Sample& sample, std::byte* out) {
        auto* const numbers = reinterpret_cast<std::int32_t*>(out);
        std::int32_t which = 0;
        each_document(state(sample), [&](std::uint32_t begin, std::uint32_t end) {
          std::fill(numbers + begin, numbers + end, which++);
        });
        std::fill(numbers + end(state(sample)), numbers + fields_.length, -1);
        return ok_status();
      });
    }
    return ok_status();
  }
  std::unique_ptr<PartState> new_state(MemoryLedger& ledger, const std::shared_ptr<LearnedStore>&) const override {
    return std::make_unique<TokenRowState>(ledger);
  }
  Status decode(Sample& sample, const PartDraws&) const override {
    TokenRowState& row = state(sample);
    const TokenPiece first = source_.piece(sample.asked.record);
    row.pieces.assign(1, {first, sample.read->bytes[of()].data()});
    row.before = source_.first(sample.asked.record) - first.first;
    row.ids = source_.ids(sample.asked.record);
    DRAPPS_RETURN_IF_ERROR(read_rest(row));
    if (fields_.by_document() || lists_documents_) list_documents(row, sample.asked.record);
    return ok_status();
  }
  Status augment(Sample& sample, const PartDraws& draws) const override {
    if (!masks_) return ok_status();
    TokenRowState& row = state(sample);
    row.ids_column.resize(fields_.length);
    row.labels_column.assign(fields_.length, text::kIgnored);
    DRAPPS_RETURN_IF_ERROR(put(row, 0, fields_.pad, row.ids_column.data()));
    masks_->apply(draws.at(), row.documents, std::span(row.ids_column).first(end(row)), row.labels_column);
    return ok_status();
  }
  std::size_t ordinals() const noexcept override { return 0; }
  std::size_t fixed_ops() const noexcept override { return 0; }
  nlohmann::json stages() const override {
    return {{{"op", "read"}, {"files", set_->files()}, {"tokens", set_->size()}},
            {{"op", "cut"}, {"length", fields_.length}, {"rows", source_.size()}}};
  }

 private:
  TokenRowState& state(const Sample& sample) const { return static_cast<TokenRowState&>(state_of(sample)); }

  /// Reads what a row has in other places than that where it begins, as few rows have.
  Status read_rest(TokenRowState& row) const {
    const std::uint64_t wanted = row.before + row.ids;
    std::uint64_t ids = row.pieces.front().of.ids;
    for (std::size_t i = 0; ids < wanted; ++i) {
      const TokenPiece next = set_->piece(row.pieces.front().of.first + ids, wanted - ids);
      if (row.buffers.size() == i) row.buffers.emplace_back(row.ledger);
      ReadRequest request;
      request.at[0] = next.at;
      request.parts = 1;
      request.into[0] = &row.buffers[i];
      if (Status status = source_.storage().read(request); !status.ok()) {
        status.error().path = *next.path;
        return std::move(status).error();
      }
      row.pieces.push_back({next, request.bytes[0].data()});
      ids += next.ids;
    }
    return ok_status();
  }

  void list_documents(TokenRowState& row, std::uint64_t record) const {
    row.documents.clear();
    const std::uint64_t begin = source_.first(record);
    if (set_->options().documents == DocumentsBy::kIndex) {
      for (const std::uint64_t document : set_->documents(begin, begin + row.ids)) {
        row.documents.push_back(static_cast<std::uint32_t>(document - begin));
      }
      return;
    }
    for (const ReadPiece& piece : row.pieces) {
      const std::int64_t place = static_cast<std::int64_t>(piece.of.first) - static_cast<std::int64_t>(begin);
      const auto at = static_cast<std::uint32_t>(std::max<std::int64_t>(place, 0));
      const bool noted = !row.documents.empty() && row.documents.back() == at;
      if (piece.of.begins && !noted) row.documents.push_back(at);
      find_all(piece, set_->options().eos, place, row.documents);
    }
    while (!row.documents.empty() && row.documents.back() >= row.ids) row.documents.pop_back();
  }

  /// The place behind the last id of the row.
  std::uint32_t end(const TokenRowState& row) const {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(row.ids, fields_.length));
  }

  /// Writes the ids of the row from place `from` on, and `filling` where there are no more.
  Status put(const TokenRowState& row, std::uint64_t from, std::int64_t filling, std::int64_t* out) const {
    std::uint64_t skip = row.before + from;
    std::uint64_t left = fields_.length;
    for (const ReadPiece& piece : row.pieces) {
      const std::size_t width = size_of(piece.of.dtype);
      const std::uint64_t skipped = std::min(skip, piece.of.ids);
      const std::uint64_t ids = std::min(left, piece.of.ids - skipped);
      const std::uint8_t* const bytes = piece.bytes + skipped * width;
      const std::uint64_t limit = set_->limit(piece.of.dtype);
      if (kernel::widen(out, bytes, width, ids) > limit) return too_large(piece, skipped, ids, out, limit);
      skip -= skipped;
      left -= ids;
      out += ids;
    }
    std::fill(out, out + left, filling);
    return ok_status();
  }

  /// @param ids  as they were written; one is above the limit.
  Error too_large(const ReadPiece& piece, std::uint64_t skipped, std::uint64_t count, const std::int64_t* ids,
                  std::uint64_t limit) const {
    const auto* const bad =
        std::find_if(ids, ids + count, [=](std::int64_t id) { return static_cast<std::uint64_t>(id) > limit; });
    const std::size_t width = size_of(piece.of.dtype);
    const std::uint64_t place = skipped + static_cast<std::uint64_t>(bad - ids);
    const bool of_vocabulary = limit + 1 == set_->options().vocabulary;
    return {.code = ErrorCode::kCorrupt,
            .stage = Stage::kDecode,
            .message = of_vocabulary
                           ? "id " + std::to_string(*bad) + " is not below vocabulary=" + std::to_string(limit + 1) +
                                 "; is the dtype that of the file, and the tokenizer the one it was made with?"
                           : "an id is negative; is the dtype that of the file?",
            .path = *piece.of.path,
            .offset = static_cast<std::int64_t>(piece.of.offset + place * width)};
  }

  Status label(const TokenRowState& row, std::int64_t* labels) const {
    DRAPPS_RETURN_IF_ERROR(put(row, row_.ahead, PackedTextPart::kIgnored, labels));
    if (!fields_.mask_starts) return ok_status();
    for (const std::uint32_t begin : row.documents) {
      if (begin >= row_.ahead) labels[begin - row_.ahead] = PackedTextPart::kIgnored;
    }
    return ok_status();
  }

  /// Calls with each document's first place and the one behind its last; a row may begin within one.
  template <class Each>
  void each_document(const TokenRowState& row, const Each& each) const {
    std::uint32_t begin = 0;
    for (const std::uint32_t next : row.documents) {
      if (next == begin || next >= end(row)) continue;
      each(begin, next);
      begin = next;
    }
    each(begin, end(row));
  }

  const TokenRowsFields fields_;
  const text::TokenSource& source_;
  const std::shared_ptr<const TokenSet> set_;
  const TokenRow row_;
  std::optional<RowMasks> masks_;
  bool lists_documents_ = false;  // for masks
};

}  // namespace

Result<std::shared_ptr<const PartSpec>> TokenRowsPart::parse(const nlohmann::json& fields, const std::string& where,
                                                             const std::shared_ptr<const Attachment>& attached) {
  TokenRowsFields read;
  JsonReader reader(fields, where);
  read.fields(reader);
  DRAPPS_RETURN_IF_ERROR(reader.status());
  const auto tokenizer = std::dynamic_pointer_cast<const TokenizerAttachment>(attached);
  return std::shared_ptr<const PartSpec>(
      std::make_shared<TokenRowsPart>(read, tokenizer == nullptr ? nullptr : tokenizer->tokenizer));
}

nlohmann::json TokenRowsPart::to_json() const {
  auto described = static_cast<const TokenRowsFields&>(*this);
  JsonWriter writer;
  described.fields(writer);
  return std::move(writer).take();
}

Result<std::shared_ptr<PartPlan>> TokenRowsPart::plan(const std::string& name, std::size_t place,
                                                      const Source& source) const {
  const auto* const of_tokens = dynamic_cast<const text::TokenSource*>(&source);
  if (of_tokens == nullptr)
    return invalid(name + " is rows of tokens, and the source has none; use a source of tokens");
  if (length == 0 || length > kMostIds) {
    return invalid("length=" + std::to_string(length) + " must be from 1 to " + std::to_string(kMostIds));
  }
  if (masked()) DRAPPS_RETURN_IF_ERROR(check_token_masks(*this, *of_tokens->set()));
  const DocumentsBy documents_by = of_tokens->set()->options().documents;
  if (by_document() && documents_by == DocumentsBy::kNothing) {
    return invalid("nothing says where documents begin: name the id that ends each, eos");
  }
  if (of_documents() && documents_by != DocumentsBy::kIndex) {
    return invalid("a row for each document needs files that list their documents; cut the ids of all instead");
  }
  if (pad < 0) return invalid("pad=" + std::to_string(pad) + " is no id");
  if (of_tokens->row() != row(documents_by)) return invalid(name + " and its source are not of the same rows");
  return std::shared_ptr<PartPlan>(std::make_shared<TokenRowsPlan>(place, *this, *of_tokens));
}

}  // namespace drapps
