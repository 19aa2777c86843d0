#include "drapps/pipeline/gatherer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <thread>

#include "drapps/base/full_testing.h"
#include "drapps/modality/picture.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kRows = 1000;
constexpr std::int32_t kSide = 12;
constexpr std::size_t kPixels = std::size_t{kSide} * kSide;

/// Pictures, a column of small rows and one of large ones, so that a batch of 32 is several runs.
struct Data {
  std::vector<std::uint8_t> pictures = std::vector<std::uint8_t>(kRows * kPixels);
  std::vector<std::int64_t> labels = std::vector<std::int64_t>(kRows);
  std::vector<float> wide = std::vector<float>(kRows * 4096);

  Data() {
    for (std::size_t i = 0; i < pictures.size(); ++i) pictures[i] = static_cast<std::uint8_t>(i * 2654435761u >> 9);
    for (std::size_t i = 0; i < kRows; ++i) labels[i] = static_cast<std::int64_t>(i * 7);
    for (std::size_t i = 0; i < wide.size(); ++i) wide[i] = static_cast<float>(i);
  }

  std::shared_ptr<Source> source(bool pictured) const {
    std::vector<Array> arrays{
        {.name = "label",
         .dtype = Dtype::kInt64,
         .data = reinterpret_cast<const std::byte*>(labels.data()),
         .stride = 8,
         .rows = kRows},
        {.name = "wide",
         .dtype = Dtype::kFloat32,
         .row_shape = {4096},
         .data = reinterpret_cast<const std::byte*>(wide.data()),
         .stride = 4 * 4096,
         .rows = kRows},
    };
    std::optional<PictureArray> picture;
    if (pictured) {
      picture = PictureArray{.name = "image",
                             .layout = {1, {kSide, kSide}, kPixels, kSide, 1},
                             .data = pictures.data(),
                             .stride = kPixels,
                             .rows = kRows};
    }
    return *ArraySource::make(std::move(arrays), std::move(picture), nullptr, nullptr);
  }
};

Settings settings_of(std::int32_t workers, std::int32_t depth) {
  Settings settings;
  settings[KnobId::kWorkers] = workers;
  settings[KnobId::kPrefetchDepth] = depth;
  settings[KnobId::kFused] = 1;
  return settings;
}

class GathererTest : public testing::Test {
 protected:
  GathererTest() { limit_ = engine_.limit({.cpus = 7, .bytes = std::size_t{64} << 20}); }

  std::unique_ptr<Gatherer> start(bool pictured, std::vector<Op> ops, bool ahead, const Settings& settings,
                                  std::uint64_t from = 0) {
    const auto source = data_.source(pictured);
    PipelineSpec spec;
    spec.parts = {{"image", std::make_shared<PicturePart>(PictureFields{.ops = std::move(ops)})}};
    spec.sampler = {.shuffle = true, .seed = 3, .batch = 32};
    auto plan = Plan::make(std::move(spec), *source);
    EXPECT_TRUE(plan.ok()) << plan.error().message;
    auto sampler = Sampler::make((*plan)->spec.sampler, 0, from);
    arena_ = *SlotArena::make((*plan)->layout.bytes(), engine_.memory(MemoryUse::kBatches));
    return *Gatherer::make({.plan = *plan,
                            .source = source,
                            .sampler = *sampler,
                            .settings = settings,
                            .engine = engine_,
                            .arena = arena_,
                            .ahead = ahead});
  }

  static std::vector<std::string> drain(Gatherer& gatherer) {
    std::vector<std::string> batches;
    for (int silent = 0; silent < 12;) {
      auto next = gatherer.next(5000ms);
      if (!next) {
        ++silent;
        continue;
      }
      if (std::holds_alternative<Runner::Finished>(*next)) return batches;
      if (const auto* error = std::get_if<Error>(&*next)) {
        batches.push_back("error " + error->message);
        continue;
      }
      const auto& batch = std::get<Batch>(*next);
      std::string all;
      for (const Column& column : batch.plan->layout.columns()) {
        all.append(reinterpret_cast<const char*>(batch.slot.data() + column.offset), column.row_bytes * batch.rows);
      }
      batches.push_back(std::to_string(batch.rows) + " rows " + std::to_string(std::hash<std::string>{}(all)));
    }
    ADD_FAILURE() << "no batch within a minute";
    return batches;
  }

  const Data data_;
  Engine engine_;
  std::unique_ptr<Engine::Limit> limit_;
  std::shared_ptr<SlotArena> arena_;
};

TEST_F(GathererTest, ABatchHoldsTheRowsThatTheSamplerNames) {
  auto gatherer = start(true, {}, false, settings_of(2, 2));
  const auto sampler = *Sampler::make(gatherer->plan().spec.sampler, 0);
  std::vector<float> numbers(256);
  for (std::size_t x = 0; x < 256; ++x) numbers[x] = static_cast<float>(x) / 255.0F;
  for (std::uint64_t step = 0; step < sampler.steps(); ++step) {
    const auto next = gatherer->next(60s);
    ASSERT_TRUE(next && std::holds_alternative<Batch>(*next));
    const auto& batch = std::get<Batch>(*next);
    ASSERT_EQ(batch.rows, sampler.batch(step).rows);
    const BatchLayout& layout = batch.plan->layout;
    const auto at = [&](std::size_t column, std::uint32_t row) { return layout.row(batch.slot.data(), column, row); };
    for (std::uint32_t row = 0; row < batch.rows; ++row) {
      const Sampler::Row wanted = sampler.row(step, row);
      const auto* image = reinterpret_cast<const float*>(at(0, row));
      for (std::size_t i = 0; i < kPixels; ++i) {
        ASSERT_EQ(image[i], numbers[data_.pictures[wanted.index * kPixels + i]]);
      }
      EXPECT_EQ(*reinterpret_cast<const std::int64_t*>(at(1, row)), data_.labels[wanted.index]);
      EXPECT_EQ(std::memcmp(at(2, row), &data_.wide[wanted.index * 4096], 4 * 4096), 0);
      EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(at(3, row)), wanted.index);
      EXPECT_EQ(*reinterpret_cast<const std::uint64_t*>(at(4, row)), wanted.position);
      EXPECT_EQ(*reinterpret_cast<const std::uint8_t*>(at(5, row)), 0);
    }
  }
  EXPECT_EQ(gatherer->left(), 0u);
  EXPECT_EQ(gatherer->position(), kRows);
}

TEST_F(GathererTest, TheStreamIsTheSameForAnyWorkersDepthAndWayOfReadingAhead) {
  const std::vector<Op> none;
  const std::vector<Op> moves{RandomCrop{.height = 10, .width = 8}, HorizontalFlip{}};
  for (const auto& ops : {none, moves}) {
    const auto expected = drain(*start(true, ops, false, settings_of(1, 1)));
    ASSERT_EQ(expected.size(), 32u);
    for (const std::int32_t workers : {1, 2, 7}) {
      for (const std::int32_t depth : full_tests() ? std::vector{1, 3, 64} : std::vector{workers == 2 ? 3 : 1, 64}) {
        for (const bool ahead : {false, true}) {
          EXPECT_EQ(drain(*start(true, ops, ahead, settings_of(workers, depth))), expected)
              << workers << " " << depth << " " << ahead;
        }
      }
    }
  }
}

TEST_F(GathererTest, ItGoesOnFromAnyBatchAndWithoutPictures) {
  auto expected = drain(*start(false, {}, true, settings_of(2, 2)));
  const auto rest = drain(*start(false, {}, true, settings_of(3, 4), 10 * 32));
  expected.erase(expected.begin(), expected.begin() + 10);
  EXPECT_EQ(rest, expected);
}

TEST_F(GathererTest, TheStreamIsTheSameWhileKnobsMoveAndMemoryIsTakenAway) {
  const auto expected = drain(*start(true, {HorizontalFlip{}}, false, settings_of(1, 1)));
  for (int round = 0; round < 4; ++round) {
    auto gatherer = start(true, {HorizontalFlip{}}, true, settings_of(2, 2));
    std::atomic<bool> done{false};
    std::thread mover([&] {
      std::mt19937 random(static_cast<unsigned>(round));
      while (!done) {
        gatherer->apply(
            settings_of(1 + static_cast<std::int32_t>(random() % 7), 1 + static_cast<std::int32_t>(random() % 9)));
        gatherer->release_idle();
      }
    });
    EXPECT_EQ(drain(*gatherer), expected);
    done = true;
    mover.join();
  }
}

TEST_F(GathererTest, WithoutReadingAheadABatchShowsWhatTheArraysHoldWhenItIsAskedFor) {
  Data data;
  const auto source = data.source(false);
  PipelineSpec spec;
  spec.sampler = {.batch = 32};
  const auto plan = *Plan::make(std::move(spec), *source);
  const auto arena = *SlotArena::make(plan->layout.bytes(), engine_.memory(MemoryUse::kBatches));
  auto gatherer = *Gatherer::make({.plan = plan,
                                   .source = source,
                                   .sampler = *Sampler::make(plan->spec.sampler, 0),
                                   .settings = settings_of(4, 8),
                                   .engine = engine_,
                                   .arena = arena,
                                   .ahead = false});
  for (std::int64_t step = 0; step < 5; ++step) {
    std::this_thread::sleep_for(5ms);
    for (auto& label : data.labels) label = step;
    const auto next = gatherer->next(60s);
    const auto& batch = std::get<Batch>(*next);
    const auto* labels = reinterpret_cast<const std::int64_t*>(batch.plan->layout.row(batch.slot.data(), 0, 0));
    for (std::uint32_t row = 0; row < batch.rows; ++row) EXPECT_EQ(labels[row], step);
  }
}

TEST_F(GathererTest, ATooSmallBudgetIsAnErrorAndMemoryOfOthersComesFirst) {
  const auto expected = drain(*start(true, {}, true, settings_of(2, 4)));
  const std::size_t batch =
      arena_->spare_bytes() == 0 ? 0 : start(true, {}, false, settings_of(1, 1))->plan().layout.bytes();
  ASSERT_GT(batch, 0u);
  arena_->retire();
  // Room for one batch, which another pass left spare.
  const auto narrow = engine_.limit({.bytes = batch + (64 << 10)});
  ArenaPlace place(engine_.spare_arenas());
  auto spare = *SlotArena::make(batch, engine_.memory(MemoryUse::kBatches));
  spare->abandon(*spare->acquire());
  place.keep(spare);
  EXPECT_EQ(drain(*start(true, {}, true, settings_of(2, 4))), expected);
  EXPECT_EQ(spare->spare_bytes(), 0u);
}

TEST_F(GathererTest, ARowWaitsForTheMemoryOfWhatEndsAndIsRefusedWhereNothingDoes) {
  const std::vector<Op> ops{RandomResizedCrop{.height = 32, .width = 32}, HorizontalFlip{}};
  const std::size_t batch = start(true, ops, false, settings_of(1, 1))->plan().layout.bytes();
  const std::size_t rest = std::size_t{64} << 10;
  const auto narrow = engine_.limit({.bytes = batch + rest});
  for (const bool ends : {true, false}) {
    const test_pass::MemoryOfAnother another(engine_, rest, ends);
    const auto next = test_pass::next_of(*start(true, ops, true, settings_of(1, 1)), 10ms);
    EXPECT_EQ(std::holds_alternative<Batch>(next), ends);
    EXPECT_TRUE(ends || std::get<Error>(next).code == ErrorCode::kResourceExhausted);
  }
}

TEST_F(GathererTest, EndingItEarlyWaitsForRunsInHand) {
  for (int round = 0; round < 20; ++round) {
    auto gatherer = start(true, {HorizontalFlip{}}, true, settings_of(7, 8));
    if (round % 2 == 0) gatherer->next(1s);
    gatherer.reset();
    arena_->retire();
    EXPECT_EQ(engine_.memory().used(), 0u);
  }
}

TEST(Plan, OpsNeedPictures) {
  const Data data;
  PipelineSpec spec;
  spec.parts = {{"image", std::make_shared<PicturePart>(PictureFields{.ops = {HorizontalFlip{}}})}};
  const auto plan = Plan::make(spec, *data.source(false));
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(plan.error().message.find("no pictures to work on"), std::string::npos);
}

}  // namespace
}  // namespace drapps
