#include "drapps/modality/packed_text.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include "drapps/modality/json_fields.h"
#include "drapps/modality/packed_row.h"
#include "drapps/modality/row_stream.h"
#include "drapps/text/corpus/text_source.h"
#include "drapps/text/pack/packer.h"

namespace drapps {
namespace {

using text::Packing;
using text::TokenId;

constexpr std::uint32_t kLongestRow = 1u << 24;

/// The streams of each source: of a unit of weight as many as the fields say, or as many for all as default_splits()
/// has for one source, with two blocks each where that can be. A source with fewer blocks has one for each.
std::vector<RowDeal::Source> dealt(const PackedTextFields& fields, const text::TextSource& source) {
  std::vector<RowDeal::Source> sources;
  std::uint64_t total = 0;
  for (std::size_t k = 0; k < source.corpora().size(); ++k) {
    sources.push_back({.weight = fields.weights.empty() ? 1 : fields.weights[k]});
    total += sources.back().weight;
  }
  std::uint64_t each = fields.splits;
  if (each == 0) {
    each = text::default_splits(2 * text::kMostSplits / total);
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const std::uint64_t blocks = source.corpora()[k]->blocks().size();
      each = std::min<std::uint64_t>(each, text::default_splits(blocks / sources[k].weight));
    }
  }
  for (std::size_t k = 0; k < sources.size(); ++k) {
    std::uint64_t wanted = sources[k].weight * each;
    if (fields.splits == 0 && total > text::kMostSplits) wanted = sources[k].weight * text::kMostSplits / total;
    sources[k].streams =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, source.corpora()[k]->blocks().size()));
  }
  return sources;
}

struct NoState final : PartState {
  void reset() noexcept override {}
};

class PackedStream final : public RowStream {
 public:
  /// Writes rows of a source by `write`, which outlives the stream, into a layout that does so too.
  PackedStream(const PackedRowWriter& writer, const BatchLayout& layout, std::uint32_t source,
               std::unique_ptr<text::Packer> packer)
      : writer_(writer), layout_(layout), source_(source), packer_(std::move(packer)) {}
  StreamCursor cursor() const noexcept override { return std::bit_cast<StreamCursor>(packer_->cursor()); }
  Status next(std::byte* slot, std::uint32_t row) override {
    text::PackedRow packed;
    DRAPPS_RETURN_IF_ERROR(packer_->next(packed));
    padding_ = packed.used == 0;
    if (slot != nullptr) writer_.write(packed, source_, layout_, slot, row);
    return ok_status();
  }
  bool padding() const noexcept override { return padding_; }
  std::vector<Error> take_errors() noexcept override { return packer_->take_errors(); }

 private:
  bool padding_ = false;
  const PackedRowWriter& writer_;
  const BatchLayout& layout_;
  const std::uint32_t source_;
  const std::unique_ptr<text::Packer> packer_;
};

/// Packing has no samples of its own, so the steps of one do nothing.
class PackedTextPlan final : public PartPlan, public RowStreams {
 public:
  PackedTextPlan(std::size_t place, const PackedTextPart& part, const text::TextSource& source)
      : PartPlan(place),
        fields_(static_cast<const PackedTextFields&>(part)),
        tokenizer_(part.tokenizer),
        corpora_(source.corpora()),
        storage_(source.shared_storage()),
        deal_(dealt(part, source)) {}

  Status add_columns(BatchColumns& columns) override {
    writer_ = std::make_unique<PackedRowWriter>(fields_, corpora_.size(), columns.layout);
    return ok_status();
  }
  const RowStreams* streams(const BatchColumns& columns) override {
    layout_ = &columns.layout;
    return this;
  }

  const RowDeal& deal() const noexcept override { return deal_; }
  std::unique_ptr<RowStream> open(std::uint32_t stream, const StreamOrder& order, const StreamCursor& at,
                                  MemoryLedger& ledger) const override {
    const auto id = [](std::int64_t field) {
      return field == PackedTextFields::kNoId ? std::optional<TokenId>() : static_cast<TokenId>(field);
    };
    const std::uint32_t k = deal_.source_of(stream);
    const RowDeal::Source& source = deal_.sources()[k];
    const Packing packing{.fit = fields_.packing,
                          .pad = static_cast<TokenId>(fields_.pad),
                          .length = fields_.length,
                          .lookahead = fields_.labels == CausalLabels::kShifted ? 1u : 0u,
                          .splits = source.streams,
                          .window = fields_.window,
                          .bos = id(fields_.bos),
                          .eos = id(fields_.eos),
                          .shuffle = order.shuffle,
                          .seed = order.seed + k,
                          .take = fields_.take,
                          .held_out = fields_.held_out,
                          .ends = fields_.ends};
    const auto cursor = at.known() ? std::bit_cast<text::PackCursor>(at) : text::PackCursor{.epoch = order.epoch};
    return std::make_unique<PackedStream>(
        *writer_, *layout_, k,
        text::make_packer({*corpora_[k], *storage_, ledger}, *tokenizer_, packing, stream - source.first, cursor));
  }

  std::unique_ptr<PartState> new_state(MemoryLedger&, const std::shared_ptr<LearnedStore>&) const override {
    return std::make_unique<NoState>();
  }
  Status decode(Sample&, const PartDraws&) const override { return ok_status(); }
  Status augment(Sample&, const PartDraws&) const override { return ok_status(); }
  std::size_t ordinals() const noexcept override { return 0; }
  std::size_t fixed_ops() const noexcept override { return 0; }
  nlohmann::json stages() const override {
    auto stages = nlohmann::json::array();
    for (std::size_t k = 0; k < corpora_.size(); ++k) {
      const RowDeal::Source& source = deal_.sources()[k];
      stages.push_back({{"op", "read"},
                        {"files", corpora_[k]->files()},
                        {"blocks", corpora_[k]->blocks().size()},
                        {"splits", source.streams}});
      if (corpora_.size() > 1) stages.back()["weight"] = source.weight;
    }
    stages.push_back({{"op", "tokenise"}, {"tokens", tokenizer_->vocabulary()}});
    stages.push_back({{"op", "pack"},
                      {"length", fields_.length},
                      {"window", fields_.window},
                      {"by", std::string(name_of(fields_.packing))}});
    return stages;
  }

 private:
  const PackedTextFields fields_;
  const std::shared_ptr<const text::Tokenizer> tokenizer_;
  const std::vector<std::shared_ptr<const text::Corpus>> corpora_;
  const std::shared_ptr<Storage> storage_;
  const RowDeal deal_;
  const BatchLayout* layout_ = nullptr;
  std::unique_ptr<const PackedRowWriter> writer_;
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
  if (ends && packing == text::Fit::kBestFit) return invalid("an epoch of best fit has no known end; use concatenate");
  if (ends && !weights.empty()) return invalid("the sources of a mixture do not end together; say how many rows");
  if (!(held_out >= 0 && held_out <= 1)) return invalid("held_out must be a share from 0 to 1");
  const std::size_t sources = of_text->corpora().size();
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
  const std::uint64_t blocks = of_text->corpora().front()->blocks().size();
  if (sources == 1 && splits > blocks) {
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
