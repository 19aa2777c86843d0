#include "drapps/modality/packed_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <numeric>
#include <optional>

#include "drapps/modality/columns.h"
#include "drapps/modality/json_fields.h"
#include "drapps/modality/row_stream.h"
#include "drapps/text/corpus/text_source.h"
#include "drapps/text/pack/packer.h"

namespace drapps {
namespace {

using text::Packing;
using text::TokenId;

constexpr std::uint32_t kLongestRow = 1u << 24;

/// Places of the columns in a layout; the layout's size for one that there is none of.
struct PackedColumns {
  std::size_t ids = 0, labels = 0, attention = 0, positions = 0, documents = 0;
};

/// Writes packed rows into batches.
class RowWriter {
 public:
  RowWriter(const PackedTextFields& fields, const BatchColumns& columns, const PackedColumns& at)
      : fields_(fields), layout_(columns.layout), at_(at) {}

  void write(const text::PackedRow& packed, std::byte* slot, std::uint32_t row) const {
    const auto ids = packed.ids.first(fields_.length);
    std::ranges::copy(ids, numbers<std::int64_t>(slot, at_.ids, row));
    if (fields_.labels != CausalLabels::kNone) {
      const std::size_t ahead = fields_.labels == CausalLabels::kShifted ? 1 : 0;
      auto* const labels = numbers<std::int64_t>(slot, at_.labels, row);
      std::ranges::copy(packed.ids.subspan(ahead, fields_.length), labels);
      for (const std::uint32_t begin : packed.documents) {
        if (fields_.mask_starts && begin >= ahead) labels[begin - ahead] = PackedTextPart::kIgnored;
      }
      const std::size_t learnt = packed.used - std::min(packed.used, ahead);
      std::fill(labels + std::min<std::size_t>(learnt, fields_.length), labels + fields_.length,
                PackedTextPart::kIgnored);
    }
    if (fields_.packing == text::Fit::kBestFit) {
      auto* const attention = numbers<std::int64_t>(slot, at_.attention, row);
      std::fill(attention, attention + end(packed), 1);
      std::fill(attention + end(packed), attention + fields_.length, 0);
    }
    if (fields_.positions) count(packed, numbers<std::int64_t>(slot, at_.positions, row));
    if (fields_.documents) number(packed, numbers<std::int32_t>(slot, at_.documents, row));
  }

 private:
  template <class T>
  T* numbers(std::byte* slot, std::size_t column, std::uint32_t row) const {
    return reinterpret_cast<T*>(layout_.row(slot, column, row));
  }
  /// Of what is no padding.
  std::uint32_t end(const text::PackedRow& packed) const {
    return static_cast<std::uint32_t>(std::min<std::size_t>(packed.used, fields_.length));
  }
  /// Calls with each document's first id and the one behind its last; a row may begin within one.
  template <class Each>
  void each_document(const text::PackedRow& packed, const Each& each) const {
    std::uint32_t begin = 0;
    for (const std::uint32_t next : packed.documents) {
      if (next > begin && next < end(packed)) {
        each(begin, next);
        begin = next;
      }
    }
    each(begin, end(packed));
  }
  void count(const text::PackedRow& packed, std::int64_t* out) const {
    each_document(packed, [&](std::uint32_t begin, std::uint32_t behind) { std::iota(out + begin, out + behind, 0); });
    std::fill(out + end(packed), out + fields_.length, 0);
  }
  void number(const text::PackedRow& packed, std::int32_t* out) const {
    std::int32_t which = 0;
    each_document(packed,
                  [&](std::uint32_t begin, std::uint32_t behind) { std::fill(out + begin, out + behind, which++); });
    std::fill(out + end(packed), out + fields_.length, -1);
  }

  const PackedTextFields fields_;
  const BatchLayout& layout_;
  const PackedColumns at_;
};

struct NoState final : PartState {
  void reset() noexcept override {}
};

class PackedStream final : public RowStream {
 public:
  PackedStream(const RowWriter& writer, const text::CorpusAccess& access, const text::Tokenizer& tokenizer,
               const Packing& packing, std::uint32_t split, const text::PackCursor& at)
      : writer_(writer), packer_(text::make_packer(access, tokenizer, packing, split, at)) {}
  StreamCursor cursor() const noexcept override { return std::bit_cast<StreamCursor>(packer_->cursor()); }
  Status next(std::byte* slot, std::uint32_t row) override {
    text::PackedRow packed;
    DRAPPS_RETURN_IF_ERROR(packer_->next(packed));
    if (slot != nullptr) writer_.write(packed, slot, row);
    return ok_status();
  }
  std::vector<Error> take_errors() noexcept override { return packer_->take_errors(); }

 private:
  const RowWriter& writer_;
  const std::unique_ptr<text::Packer> packer_;
};

/// Packing has no samples of its own, so the steps of one do nothing.
class PackedTextPlan final : public PartPlan, public RowStreams {
 public:
  PackedTextPlan(std::size_t place, const PackedTextPart& part, const text::TextSource& source)
      : PartPlan(place),
        fields_(static_cast<const PackedTextFields&>(part)),
        tokenizer_(part.tokenizer),
        corpus_(source.corpus()),
        storage_(source.shared_storage()) {
    if (fields_.splits == 0) fields_.splits = text::default_splits(corpus_->blocks().size());
  }

  Status add_columns(BatchColumns& columns) override {
    const std::vector<std::int64_t> row{fields_.length};
    PackedColumns at;
    at.ids = columns.layout.add("input_ids", Dtype::kInt64, row);
    if (fields_.labels != CausalLabels::kNone) at.labels = columns.layout.add("labels", Dtype::kInt64, row);
    if (fields_.packing == text::Fit::kBestFit) at.attention = columns.layout.add("attention_mask", Dtype::kInt64, row);
    if (fields_.positions) at.positions = columns.layout.add("position_ids", Dtype::kInt64, row);
    if (fields_.documents) at.documents = columns.layout.add("document_ids", Dtype::kInt32, row);
    at_ = at;
    return ok_status();
  }
  const RowStreams* streams(const BatchColumns& columns) override {
    writer_ = std::make_unique<RowWriter>(fields_, columns, at_);
    return this;
  }

  std::uint32_t count() const noexcept override { return fields_.splits; }
  std::unique_ptr<RowStream> open(std::uint32_t stream, const StreamOrder& order, const StreamCursor& at,
                                  MemoryLedger& ledger) const override {
    const auto id = [](std::int64_t field) {
      return field == PackedTextFields::kNoId ? std::optional<TokenId>() : static_cast<TokenId>(field);
    };
    const Packing packing{.fit = fields_.packing,
                          .pad = static_cast<TokenId>(fields_.pad),
                          .length = fields_.length,
                          .lookahead = fields_.labels == CausalLabels::kShifted ? 1u : 0u,
                          .splits = fields_.splits,
                          .window = fields_.window,
                          .bos = id(fields_.bos),
                          .eos = id(fields_.eos),
                          .shuffle = order.shuffle,
                          .seed = order.seed,
                          .take = fields_.take,
                          .held_out = fields_.held_out};
    const auto cursor = at.known() ? std::bit_cast<text::PackCursor>(at) : text::PackCursor{.epoch = order.epoch};
    return std::make_unique<PackedStream>(*writer_, text::CorpusAccess{*corpus_, *storage_, ledger}, *tokenizer_,
                                          packing, stream, cursor);
  }

  std::unique_ptr<PartState> new_state(MemoryLedger&, const std::shared_ptr<LearnedStore>&) const override {
    return std::make_unique<NoState>();
  }
  Status decode(Sample&, const PartDraws&) const override { return ok_status(); }
  Status augment(Sample&, const PartDraws&) const override { return ok_status(); }
  std::size_t ordinals() const noexcept override { return 0; }
  std::size_t fixed_ops() const noexcept override { return 0; }
  nlohmann::json stages() const override {
    return {{{"op", "read"}, {"files", corpus_->files()}, {"blocks", corpus_->blocks().size()}},
            {{"op", "tokenise"}, {"tokens", tokenizer_->vocabulary()}},
            {{"op", "pack"},
             {"length", fields_.length},
             {"splits", fields_.splits},
             {"window", fields_.window},
             {"by", std::string(name_of(fields_.packing))}}};
  }

 private:
  PackedTextFields fields_;
  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const std::shared_ptr<const text::Corpus> corpus_;
  const std::shared_ptr<Storage> storage_;
  PackedColumns at_;
  std::unique_ptr<const RowWriter> writer_;
};

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
  if (!(held_out >= 0 && held_out <= 1)) return invalid("held_out must be a share from 0 to 1");
  const std::uint64_t blocks = of_text->corpus()->blocks().size();
  if (splits > blocks) {
    return invalid("splits=" + std::to_string(splits) + " is more than the " + std::to_string(blocks) +
                   " blocks that the files have; use fewer");
  }
  for (const auto& [field, id] : {std::pair("bos", bos), std::pair("eos", eos), std::pair("pad", pad)}) {
    if (id < kNoId || id > std::numeric_limits<TokenId>::max()) {
      return invalid(std::string(field) + "=" + std::to_string(id) + " is no id");
    }
  }
  return std::shared_ptr<PartPlan>(std::make_shared<PackedTextPlan>(place, *this, *of_text));
}

}  // namespace drapps
