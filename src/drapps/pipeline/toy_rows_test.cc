// A modality whose rows go on where others ended, vary in length, and come to an end that nobody knew when the pass
// began: known to the library by one entry in the list.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "drapps/modality/columns.h"
#include "drapps/modality/json_fields.h"
#include "drapps/modality/modalities.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

constexpr std::uint64_t kMostToyRows = 1000;  // that a pass may have, as far as its source says beforehand
constexpr std::uint32_t kLongestToyRow = 7;

/// Row k has k modulo 8 bytes, each of them k. After `rows` of a stream the source has no more.
struct ToyRows final : PartSpec {
  std::int32_t rows = 10;
  std::int32_t streams = 1;

  template <class V>
  void fields(V& v) {
    v("rows", rows);
    v("streams", streams);
  }
  std::string_view modality() const noexcept override { return "toy_rows"; }
  nlohmann::json to_json() const override {
    ToyRows described = *this;
    JsonWriter writer;
    described.fields(writer);
    return std::move(writer).take();
  }
  Result<std::shared_ptr<PartPlan>> plan(const std::string& name, std::size_t place, const Source&) const override;
  static Result<std::shared_ptr<const PartSpec>> parse(const nlohmann::json& object, const std::string& where,
                                                       const std::shared_ptr<const Attachment>&) {
    auto part = std::make_shared<ToyRows>();
    JsonReader reader(object, where);
    part->fields(reader);
    DRAPPS_RETURN_IF_ERROR(reader.status());
    return std::shared_ptr<const PartSpec>(std::move(part));
  }
};

struct ToyRowsState final : PartState {
  void reset() noexcept override {}
};

class ToyRowStream final : public RowStream {
 public:
  ToyRowStream(const BatchLayout& layout, const RowDeal& deal, std::uint32_t stream, std::uint64_t rows,
               std::uint64_t at)
      : layout_(layout), deal_(deal), stream_(stream), rows_(rows), next_(at) {}

  StreamCursor cursor() const noexcept override { return {.row = next_}; }
  bool ended() const noexcept override { return next_ >= rows_; }
  Status next(std::byte* slot, std::uint32_t row) override {
    EXPECT_FALSE(ended());
    const std::uint64_t number = deal_.row(stream_, next_++);
    if (slot == nullptr) return ok_status();
    const auto length = static_cast<std::uint8_t>(number % (kLongestToyRow + 1));
    put_number<std::uint8_t>(layout_.row(slot, layout_.find("length"), row), length);
    std::memset(layout_.row(slot, layout_.find("bytes"), row), static_cast<int>(number), length);
    return ok_status();
  }
  std::vector<Error> take_errors() noexcept override { return {}; }

 private:
  const BatchLayout& layout_;
  const RowDeal& deal_;
  const std::uint32_t stream_;
  const std::uint64_t rows_;
  std::uint64_t next_;
};

class ToyRowsPlan final : public PartPlan, public RowStreams {
 public:
  ToyRowsPlan(const ToyRows& spec, std::size_t place)
      : PartPlan(place),
        rows_(spec.rows),
        deal_(std::vector<RowDeal::DealtSource>{{.streams = static_cast<std::uint32_t>(spec.streams)}}) {}

  Status add_columns(BatchColumns& columns) override {
    bytes_ = columns.layout.add_varying("bytes", Dtype::kUint8, {kLongestToyRow}, 1);
    columns.layout.add("length", Dtype::kUint8, {});
    return ok_status();
  }
  const RowStreams* streams(const BatchColumns& columns) override {
    layout_ = &columns.layout;
    return this;
  }
  const RowDeal& deal() const noexcept override { return deal_; }
  std::unique_ptr<RowStream> open(std::uint32_t stream, const StreamOrder&, const StreamCursor& at, KeptReads*,
                                  MemoryLedger&) const override {
    return std::make_unique<ToyRowStream>(*layout_, deal_, stream, static_cast<std::uint64_t>(rows_),
                                          at.known() ? at.row : 0);
  }
  bool finishes() const noexcept override { return true; }
  /// Rows of a batch stand one behind the other, without what is between them.
  void finish(const BatchColumns& columns, std::byte* slot, std::uint32_t rows, const PartDraws&) const override {
    std::int64_t end = 0;
    std::byte* const begin = columns.layout.row(slot, bytes_, 0);
    for (std::uint32_t row = 0; row < rows; ++row) {
      const auto length = static_cast<std::size_t>(*columns.layout.row(slot, columns.layout.find("length"), row));
      std::memmove(begin + end, columns.layout.row(slot, bytes_, row), length);
      end += static_cast<std::int64_t>(length);
    }
    columns.layout.set_shape(slot, bytes_, {end, 0});
  }

  std::unique_ptr<PartState> new_state(MemoryLedger&, const std::shared_ptr<LearnedStore>&) const override {
    return std::make_unique<ToyRowsState>();
  }
  Status decode(Sample&, const PartDraws&) const override { return ok_status(); }
  Status augment(Sample&, const PartDraws&) const override { return ok_status(); }
  std::size_t ordinals() const noexcept override { return 0; }
  std::size_t fixed_ops() const noexcept override { return 0; }
  nlohmann::json stages() const override { return nlohmann::json::array(); }

 private:
  const std::int32_t rows_;
  const RowDeal deal_;
  const BatchLayout* layout_ = nullptr;
  std::size_t bytes_ = 0;
};

Result<std::shared_ptr<PartPlan>> ToyRows::plan(const std::string&, std::size_t place, const Source&) const {
  return std::shared_ptr<PartPlan>(std::make_shared<ToyRowsPlan>(*this, place));
}

/// Records that nobody reads: the toy makes its rows of nothing.
class Endless final : public Source {
 public:
  Endless() : Source(kMostToyRows, Hint{}, {"rows"}) {}
  Location locate(std::uint64_t, RecordPart) const noexcept override { return {.path = nullptr, .bytes = {}}; }
  std::string name(std::uint64_t, RecordPart) const override { return "rows"; }
};

class ToyRowsTest : public testing::Test {
 protected:
  ToyRowsTest() { register_modality({"toy_rows", &ToyRows::parse}); }

  std::unique_ptr<Runner> start(std::int32_t rows, std::int32_t streams, std::uint64_t from = 0) {
    auto spec =
        parse_spec(R"({"parts":{"rows":{"modality":"toy_rows","rows":)" + std::to_string(rows) + R"(,"streams":)" +
                   std::to_string(streams) + R"(}},"sampler":{"batch":4,"remainder":"drop"}})");
    EXPECT_TRUE(spec.ok()) << spec.error().message;
    const auto plan = Plan::make(*spec, *source_);
    EXPECT_TRUE(plan.ok()) << plan.error().message;
    Settings settings;
    settings[KnobId::kWorkers] = 3;
    settings[KnobId::kPrefetchDepth] = 5;
    return *make_runner({.plan = *plan,
                         .source = source_,
                         .sampler = *Sampler::make((*plan)->spec.sampler, 0, from),
                         .settings = settings,
                         .engine = engine_,
                         .arena = nullptr});
  }
  /// The bytes of each batch, as long as its column says.
  static std::vector<std::string> drain(Runner& runner) {
    std::vector<std::string> texts;
    while (true) {
      auto next = runner.next(std::chrono::seconds(60));
      EXPECT_TRUE(next);
      if (!next || !std::holds_alternative<Batch>(*next)) return texts;
      const Batch& batch = std::get<Batch>(*next);
      const BatchLayout& layout = batch.plan->layout;
      const Column& column = layout.columns()[layout.find("bytes")];
      const auto shape = layout.shape(batch.slot.data(), column, batch.rows);
      texts.emplace_back(reinterpret_cast<const char*>(batch.slot.data()) + column.offset,
                         static_cast<std::size_t>(shape[0]));
    }
  }
  static std::string rows(int begin, int end) {
    std::string all;
    for (int k = begin; k < end; ++k) all += std::string(static_cast<std::size_t>(k) % 8, static_cast<char>(k));
    return all;
  }

  Engine engine_;
  std::shared_ptr<Source> source_ = std::make_shared<Endless>();
};

TEST_F(ToyRowsTest, APassEndsWithTheLastWholeBatchOfItsSource) {
  const auto runner = start(10, 1);
  EXPECT_EQ(drain(*runner), (std::vector{rows(0, 4), rows(4, 8)}));
  EXPECT_EQ(runner->left(), 0u);
  EXPECT_EQ(runner->ready_batches(), 0u);
  EXPECT_TRUE(std::holds_alternative<Runner::Finished>(*runner->next(std::chrono::seconds(60))));
}

TEST_F(ToyRowsTest, TheStreamThatEndsFirstEndsThePass) {
  // Streams take turns, so that each has the same rows of the first 39.
  const auto expected = drain(*start(13, 3));
  ASSERT_EQ(expected.size(), 9u);
  for (int batch = 0; batch < 9; ++batch) {
    EXPECT_EQ(expected[static_cast<std::size_t>(batch)], rows(4 * batch, 4 * batch + 4));
  }
}

TEST_F(ToyRowsTest, ASourceWithoutARowMakesAnEmptyPass) { EXPECT_TRUE(drain(*start(0, 2)).empty()); }

TEST_F(ToyRowsTest, WhatIsResumedEndsAtTheSamePlace) { EXPECT_EQ(drain(*start(10, 1, 4)), (std::vector{rows(4, 8)})); }

TEST_F(ToyRowsTest, ItGivesAllItsMemoryBack) {
  for (int i = 0; i < 3; ++i) drain(*start(9, 2));
  EXPECT_EQ(engine_.memory().used(), 0u);
}

}  // namespace
}  // namespace drapps
