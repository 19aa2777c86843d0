#include "drapps/modality/packed_text_plan.h"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>
#include <vector>

#include "drapps/modality/row_stream.h"
#include "drapps/modality/row_writer.h"
#include "drapps/text/pack/packer.h"
#include "drapps/text/pack/token_packer.h"

namespace drapps {
namespace {

using text::Packing;
using text::TokenId;

/// The streams of each source: of a unit of weight as many as the fields say, or as many for all as default_splits()
/// has for one source, with two blocks each where that can be. A source with fewer blocks has one for each.
std::vector<RowDeal::DealtSource> dealt(const PackedTextFields& fields, const text::TextSource& source) {
  std::vector<RowDeal::DealtSource> sources;
  std::uint64_t total = 0;
  for (std::size_t k = 0; k < source.sets().size(); ++k) {
    sources.push_back({.weight = fields.weights.empty() ? 1 : fields.weights[k]});
    total += sources.back().weight;
  }
  std::uint64_t each = fields.splits;
  if (each == 0) {
    each = text::default_splits(2 * text::kMostSplits / total);
    for (std::size_t k = 0; k < sources.size(); ++k) {
      const std::uint64_t blocks = most_splits_of(source.sets()[k], fields);
      each = std::min<std::uint64_t>(each, text::default_splits(blocks / sources[k].weight));
    }
  }
  for (std::size_t k = 0; k < sources.size(); ++k) {
    std::uint64_t wanted = sources[k].weight * each;
    if (fields.splits == 0 && total > text::kMostSplits) wanted = sources[k].weight * text::kMostSplits / total;
    sources[k].streams =
        static_cast<std::uint32_t>(std::clamp<std::uint64_t>(wanted, 1, most_splits_of(source.sets()[k], fields)));
  }
  return sources;
}

struct NoState final : PartState {
  void reset() noexcept override {}
};

class PackedStream final : public RowStream {
 public:
  /// Rows of one of the deal's streams, whose draws are those of row 0; what it refers to outlives it.
  PackedStream(const RowWriter& writer, const BatchLayout& layout, const RowDeal& deal, std::uint32_t stream,
               const Coordinate& draws, std::unique_ptr<text::Packer> packer)
      : writer_(writer), layout_(layout), deal_(deal), stream_(stream), draws_(draws), packer_(std::move(packer)) {}
  StreamCursor cursor() const noexcept override { return std::bit_cast<StreamCursor>(packer_->cursor()); }
  Status next(std::byte* slot, std::uint32_t row) override {
    text::PackedRow packed;
    RowOrigin origin{.source = deal_.source_of(stream_), .draws = draws_};
    origin.draws.position = deal_.row(stream_, packer_->cursor().row);
    DRAPPS_RETURN_IF_ERROR(packer_->next(packed));
    padding_ = packed.used == 0;
    if (slot != nullptr) writer_.write(packed, origin, layout_, slot, row);
    return ok_status();
  }
  bool padding() const noexcept override { return padding_; }
  std::vector<Error> take_errors() noexcept override { return packer_->take_errors(); }

 private:
  bool padding_ = false;
  const RowWriter& writer_;
  const BatchLayout& layout_;
  const RowDeal& deal_;
  const std::uint32_t stream_;
  const Coordinate draws_;
  const std::unique_ptr<text::Packer> packer_;
};

/// Packing has no samples of its own, so the steps of one do nothing.
class PackedTextPlan final : public PartPlan, public RowStreams {
 public:
  PackedTextPlan(std::size_t place, const PackedTextPart& part, const text::TextSource& source)
      : PartPlan(place),
        part_(part),
        sets_(source.sets()),
        storage_(source.shared_storage()),
        deal_(dealt(part, source)) {}

  Status add_columns(BatchColumns& columns) override {
    if (part_.packing == text::Fit::kBudget && columns.layout.capacity() != 1) {
      return invalid("a batch of a token budget is one row to who deals rows out; use no other batch size");
    }
    writer_ = make_row_writer(part_, sets_.size(), columns.layout);
    return ok_status();
  }
  bool finishes() const noexcept override { return writer_->finishes(); }
  void finish(const BatchColumns& columns, std::byte* slot, std::uint32_t rows,
              const PartDraws& /*draws*/) const override {
    writer_->finish(columns.layout, slot, rows);
  }
  const RowStreams* streams(const BatchColumns& columns) override {
    layout_ = &columns.layout;
    return this;
  }

  const RowDeal& deal() const noexcept override { return deal_; }
  std::unique_ptr<RowStream> open(std::uint32_t stream, const StreamOrder& order, const StreamCursor& at,
                                  KeptReads* kept, MemoryLedger& ledger) const override {
    const std::uint32_t k = deal_.source_of(stream);
    const RowDeal::DealtSource& source = deal_.sources()[k];
    Packing packing = packing_of(part_);
    packing.splits = source.streams;
    packing.shuffle = order.shuffle;
    packing.seed = order.seed + k;
    const auto cursor = at.known() ? std::bit_cast<text::PackCursor>(at) : text::PackCursor{.epoch = order.epoch};
    const text::TextSet& set = sets_[k];
    const std::uint32_t split = stream - source.first;
    const FileReads files(*storage_, kept);
    auto packer = set.corpus != nullptr
                      ? text::make_packer({*set.corpus, files, ledger}, *part_.tokenizer, packing, split, cursor)
                      : std::make_unique<text::TokenPacker>(*set.tokens, files, ledger, packing, split, cursor);
    return std::make_unique<PackedStream>(*writer_, *layout_, deal_, stream, order.draws, std::move(packer));
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
    for (std::size_t k = 0; k < sets_.size(); ++k) {
      const RowDeal::DealtSource& source = deal_.sources()[k];
      stages.push_back({{"op", "read"},
                        {"files", sets_[k].files()},
                        {sets_[k].corpus != nullptr ? "blocks" : "rows", most_splits_of(sets_[k], part_)},
                        {"splits", source.streams}});
      if (sets_.size() > 1) stages.back()["weight"] = source.weight;
    }
    stages.push_back({{"op", "tokenise"}, {"tokens", part_.tokenizer->vocabulary()}});
    stages.push_back({{"op", part_.alone() ? "pad" : "pack"},
                      {"length", part_.length},
                      {"window", part_.window},
                      {"by", std::string(name_of(part_.packing))}});
    return stages;
  }

 private:
  const PackedTextPart part_;
  const std::vector<text::TextSet> sets_;
  const std::shared_ptr<Storage> storage_;
  const RowDeal deal_;
  const BatchLayout* layout_ = nullptr;
  std::unique_ptr<const RowWriter> writer_;
};

}  // namespace

text::Packing packing_of(const PackedTextFields& fields) {
  const auto id = [](std::int64_t field) {
    return field == PackedTextFields::kNoId ? std::optional<TokenId>() : static_cast<TokenId>(field);
  };
  return {.fit = fields.packing,
          .pad = static_cast<TokenId>(fields.pad),
          .length = fields.length,
          .lookahead = fields.labels == CausalLabels::kShifted && !fields.alone() ? 1u : 0u,
          .window = fields.window,
          .bos = id(fields.bos),
          .eos = id(fields.eos),
          .take = fields.take,
          .held_out = fields.held_out,
          .overlap = fields.overlap,
          .truncate = fields.truncate,
          .budget = fields.budget,
          .widths = fields.widths(),
          .ends = fields.ends};
}

std::uint64_t most_splits_of(const text::TextSet& set, const PackedTextFields& fields) {
  return set.corpus != nullptr ? set.corpus->most_splits() : rows_of(*set.tokens, packing_of(fields));
}

std::shared_ptr<PartPlan> make_packed_text_plan(std::size_t place, const PackedTextPart& part,
                                                const text::TextSource& source) {
  return std::make_shared<PackedTextPlan>(place, part, source);
}

}  // namespace drapps
