#include "drapps/pipeline/stream_runner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "drapps/modality/packed_text.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/storage/testing.h"
#include "drapps/text/corpus/text_source.h"
#include "drapps/text/testing.h"

namespace drapps {
namespace {

class StreamRunnerTest : public testing::Test {
 protected:
  StreamRunnerTest() {
    std::string text;
    for (std::size_t i = 0; i < 2000; ++i) {
      text += "{\"text\": \"" + std::to_string(i) + std::string(mixed(i) % 3000, 'y') + "\"}\n";
      if (i == 1200) text += "{\"text\": 5}\n";
    }
    path_ = folder_.put("some.jsonl", text);
  }

  std::shared_ptr<Source> source(std::uint64_t rows) const {
    auto corpus = text::Corpus::open({path_}, {.format = text::DocumentFormat::kJsonLines});
    return std::make_shared<text::TextSource>(std::vector<text::TextSet>{{*corpus, nullptr}}, rows);
  }
  std::shared_ptr<const Plan> plan(const Source& source, const std::string& more, std::int32_t rank = 0,
                                   std::int32_t world = 1, std::uint32_t batch = 6) const {
    auto spec = parse_spec(
        R"({"parts": {"text": {"modality": "packed_text", "length": 700, "eos": 255, "splits": 2}})" + more + "}",
        std::make_shared<TokenizerAttachment>(tokenizer_));
    EXPECT_TRUE(spec.ok()) << spec.error().message;
    spec->sampler.shuffle = true;
    spec->sampler.rank = rank;
    spec->sampler.world = world;
    spec->sampler.batch = batch;
    spec->sampler.remainder = Remainder::kDrop;
    auto batch_plan = Plan::make(*spec, source);
    EXPECT_TRUE(batch_plan.ok()) << batch_plan.error().message;
    return *batch_plan;
  }
  std::unique_ptr<Runner> start(const std::shared_ptr<const Plan>& plan, const std::shared_ptr<Source>& source,
                                std::int32_t workers, std::uint64_t from = 0, std::vector<StreamCursor> cursors = {}) {
    Settings settings;
    settings[KnobId::kWorkers] = workers;
    settings[KnobId::kPrefetchDepth] = 5;
    return *make_runner({.plan = plan,
                         .source = source,
                         .sampler = *Sampler::make(plan->spec.sampler, 0, from),
                         .settings = settings,
                         .engine = engine_,
                         .arena = nullptr,
                         .cursors = std::move(cursors)});
  }
  std::string rows(std::int32_t workers, std::int32_t rank = 0, std::int32_t world = 1) {
    const auto from = source(360);
    const auto how = plan(*from, R"(, "on_error": "skip")", rank, world, 12 / static_cast<std::uint32_t>(world));
    std::string all;
    for (const std::string& batch : test_pass::drain(*start(how, from, workers), "input_ids")) all += batch;
    return all;
  }

  Engine engine_;
  Folder folder_;
  std::string path_;
  std::shared_ptr<const text::Tokenizer> tokenizer_ = text::byte_tokenizer();
};

TEST_F(StreamRunnerTest, RowsAreTheSameForAnyWorkers) {
  const std::string expected = rows(1);
  EXPECT_EQ(expected.size(), 360u * 700 * 8);
  EXPECT_EQ(rows(2), expected);
  EXPECT_EQ(rows(7), expected);
}

TEST_F(StreamRunnerTest, RanksHaveEveryRowOnce) {
  constexpr std::size_t kRow = 700 * 8;
  const std::string all = rows(2);
  for (const std::size_t world : {2u, 3u}) {
    std::vector<std::string> parts;
    for (std::size_t rank = 0; rank < world; ++rank) {
      parts.push_back(rows(2, static_cast<std::int32_t>(rank), static_cast<std::int32_t>(world)));
    }
    for (std::size_t row = 0; row < 360; ++row) {
      EXPECT_EQ(parts[row % world].substr(row / world * kRow, kRow), all.substr(row * kRow, kRow)) << row;
    }
  }
}

TEST_F(StreamRunnerTest, AnyPositionOfLateGoesOnByItsCursors) {
  const auto from = source(360);
  const auto how = plan(*from, R"(, "on_error": "skip")");
  const auto whole = test_pass::drain(*start(how, from, 2), "input_ids");
  const auto runner = start(how, from, 2);
  for (int i = 0; i < 20; ++i) runner->next(std::chrono::seconds(60));
  for (const std::size_t step : {20u, 19u, 1u}) {
    const auto cursors = runner->cursors(step * 6);
    EXPECT_TRUE(std::all_of(cursors.begin(), cursors.end(), [](const auto& each) { return each.known(); }));
    const auto rest = test_pass::drain(*start(how, from, 2, step * 6, cursors), "input_ids");
    EXPECT_EQ(rest, std::vector(whole.begin() + static_cast<std::ptrdiff_t>(step), whole.end())) << step;
  }
  // Without cursors, and with ones from farther on, it takes longer and is the same.
  for (const auto& cursors : {std::vector<StreamCursor>{}, runner->cursors(120)}) {
    const auto rest = test_pass::drain(*start(how, from, 2, 60, cursors), "input_ids");
    EXPECT_EQ(rest, std::vector(whole.begin() + 10, whole.end()));
  }
}

TEST_F(StreamRunnerTest, ABadDocumentIsAnErrorOfOneBatch) {
  const auto from = source(6000);
  const auto runner = start(plan(*from, ""), from, 3);
  const auto batches = test_pass::drain(*runner, "input_ids");
  const auto errors = std::count_if(batches.begin(), batches.end(), [](const std::string& each) {
    return each.find("is no string") != std::string::npos;
  });
  const auto bad = runner->bad_samples();
  ASSERT_GE(errors, 1);
  EXPECT_EQ(bad.size(), static_cast<std::size_t>(errors));
  EXPECT_EQ(bad.front().path, path_);
}

TEST_F(StreamRunnerTest, DescriptionsThatDoNotFitAreRefused) {
  const auto from = source(10);
  const auto refusal = [&](const std::string& json) {
    auto spec = parse_spec(json, std::make_shared<TokenizerAttachment>(tokenizer_));
    if (!spec.ok()) return spec.error().message;
    auto batch_plan = Plan::make(*spec, *from);
    return batch_plan.ok() ? std::string() : batch_plan.error().message;
  };
  const std::string part = R"("parts": {"text": {"modality": "packed_text", "length": 8)";
  EXPECT_NE(refusal("{" + part + R"(}}, "on_error": "replace"})").find("use on_error"), std::string::npos);
  EXPECT_NE(refusal("{" + part + R"(}}, "sampler": {"remainder": "pad"}})").find("not padded"), std::string::npos);
  EXPECT_NE(refusal("{" + part + R"(, "splits": 50}}})").find("splits=50"), std::string::npos);
  EXPECT_NE(refusal("{" + part + R"(, "eos": -2}}})").find("eos=-2"), std::string::npos);
  EXPECT_FALSE(parse_spec("{" + part + "}}}").ok());
}

}  // namespace
}  // namespace drapps
