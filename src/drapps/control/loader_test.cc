#include "drapps/control/loader.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <thread>

#include "drapps/decode/jpeg/index_memory.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/plant/knob_range.h"
#include "drapps/policy/policies_test.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;

std::shared_ptr<Source> pictures(std::uint32_t count) {
  auto bytes = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
  std::vector<MemorySource::Bytes> records;
  for (std::uint32_t i = 0; i < count; ++i) bytes->push_back(testing_pictures::png(20 + i % 7, 24 + i % 5, i));
  for (const auto& each : *bytes) records.emplace_back(each);
  return *MemorySource::make(std::move(records), bytes);
}

std::unique_ptr<Loader> loader_of(std::shared_ptr<Source> source, Resources resources = {}) {
  register_test_policies();
  PipelineSpec spec;
  spec.parts = {
      testing_pictures::picture_part({.ops = {RandomResizedCrop{.height = 16, .width = 12}, HorizontalFlip{}}})};
  spec.sampler = {.shuffle = true, .batch = 8};
  auto loader = Loader::make(std::move(spec), std::move(source), std::move(resources));
  EXPECT_TRUE(loader.ok()) << loader.error().message;
  return *std::move(loader);
}

std::vector<std::string> drain(Iterator& iterator, std::chrono::milliseconds step = 0ms) {
  std::vector<std::string> batches;
  for (;;) {
    const auto next = iterator.next(10s);
    if (!next || !std::holds_alternative<Batch>(*next)) return batches;
    const auto& batch = std::get<Batch>(*next);
    const Column& image = batch.plan->layout.columns()[batch.plan->layout.find("image")];
    batches.emplace_back(reinterpret_cast<const char*>(batch.slot.data() + image.offset), image.row_bytes * batch.rows);
    std::this_thread::sleep_for(step);
  }
}

TEST(Loader, TheStreamIsTheSameUnderAnyPolicy) {
  const auto source = pictures(101);
  const auto expected = drain(**loader_of(source)->iterate({.epoch = 3}));
  ASSERT_EQ(expected.size(), 13u);
  for (const char* policy : {"hill_climb", "random", "random_raw", "faulty"}) {
    const auto loader = loader_of(source, {.policy = {.name = policy}, .budget = {.cpus = 7}});
    EXPECT_EQ(drain(**loader->iterate({.epoch = 3}), 30ms), expected) << policy;
  }
}

TEST(Loader, TheTimeUpToTheFirstBatchIsBrokenDown) {
  const auto loader = loader_of(pictures(40));
  EXPECT_FALSE(loader->explain()["plan"].contains("first_batch"));
  const auto began = std::chrono::steady_clock::now();
  const auto iterator = *loader->iterate({});
  EXPECT_TRUE(loader->explain()["plan"]["first_batch"].empty());
  ASSERT_TRUE(iterator->next(10s));
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  const auto first = loader->explain()["plan"]["first_batch"];
  ASSERT_EQ(first.size(), 3u);
  double sum = 0;
  for (const char* part : {"first_read_s", "first_sample_s", "rest_s"}) {
    EXPECT_GE(first[part].get<double>(), 0) << part;
    sum += first[part].get<double>();
  }
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, took.count());
  ASSERT_TRUE(iterator->next(10s));
  EXPECT_EQ(loader->explain()["plan"]["first_batch"], first);
}

TEST(Loader, WhatARandomPolicyMovesStandsInTheLogAndWithinTheBudget) {
  const auto loader = loader_of(pictures(400), {.policy = {.name = "random_raw"}, .budget = {.cpus = 3}});
  drain(**loader->iterate({}), 20ms);
  const auto log = loader->explain()["decisions"];
  EXPECT_EQ(log["status"], "running");
  EXPECT_GT(log["totals"]["moves"].get<int>(), 0);
  for (const auto& entry : log["entries"]) {
    if (entry["knob"] != "workers") continue;
    EXPECT_LE(entry["applied"].get<int>(), 3);
  }
}

TEST(Loader, AFailedPolicyIsSaidAndTheLoaderGoesOn) {
  const auto loader = loader_of(pictures(400), {.policy = {.name = "faulty"}});
  EXPECT_EQ(drain(**loader->iterate({}), 40ms).size(), 50u);
  const auto log = loader->explain()["decisions"];
  EXPECT_EQ(log["status"], "stopped");
  EXPECT_NE(log["stop_reason"].get<std::string>().find("control stopped"), std::string::npos);
}

TEST(Loader, APolicyMayBeSwappedAtAnyTime) {
  const auto source = pictures(200);
  const auto expected = drain(**loader_of(source)->iterate({}));
  const auto loader = loader_of(source, {.budget = {.cpus = 3}});
  EXPECT_EQ(loader->control().set_policy({.name = "best"}).error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(loader->control().set_policy({.name = "faulty"}).ok());
  const auto log = [&] { return loader->explain()["decisions"]; };
  EXPECT_EQ(log()["policy"], "faulty");
  const auto iterator = *loader->iterate({});
  const auto batch = iterator->next(10s);
  ASSERT_TRUE(loader->control().set_policy({.name = "random_raw"}).ok());
  EXPECT_EQ(drain(*iterator, 20ms), std::vector(expected.begin() + 1, expected.end()));
  EXPECT_EQ(log()["policy"], "random_raw");
  EXPECT_EQ(log()["stop_reason"], nullptr);
  EXPECT_GT(log()["totals"]["moves"].get<int>(), 0);
  EXPECT_FALSE(loader->control().set_policy({.name = "hill_climb", .parameters = {{"gain", 9}}}).ok());
  EXPECT_EQ(log()["policy"], "random_raw");
}

TEST(Loader, PassesTooShortForADecisionAddUpToDecisions) {
  const auto loader = loader_of(pictures(24), {.policy = {.name = "random"}, .budget = {.cpus = 3}});
  const auto end = std::chrono::steady_clock::now() + 60s;
  std::uint32_t epoch = 0;
  const auto log = [&] { return loader->explain()["decisions"]; };
  for (; log()["totals"]["moves"].get<int>() < 3 && std::chrono::steady_clock::now() < end; ++epoch) {
    EXPECT_EQ(drain(**loader->iterate({.epoch = epoch}), 10ms).size(), 3u);
  }
  const auto decisions = log();
  EXPECT_GE(decisions["totals"]["moves"].get<int>(), 3);
  ASSERT_FALSE(decisions["entries"].empty());
  std::uint32_t last = 0;
  for (const auto& entry : decisions["entries"]) {
    EXPECT_GE(entry["epoch"].get<std::uint32_t>(), last);
    last = entry["epoch"];
    EXPECT_LT(last, epoch);
  }
}

TEST(Loader, PassesSideBySideShareTheirKnobsAndTheirLog) {
  auto loader = loader_of(pictures(160), {.policy = {.name = "random_raw"}, .budget = {.cpus = 7}});
  auto one = *loader->iterate({.epoch = 1});
  auto two = *loader->iterate({.epoch = 2});
  one->next(10s);
  Settings settings = loader->settings();
  settings[KnobId::kWorkers] = 1;
  loader->control().freeze(true);
  loader->apply(settings);
  EXPECT_EQ(loader->settings(), settings);
  one->close();
  loader->control().freeze(false);
  const auto end = std::chrono::steady_clock::now() + 60s;  // the other is still under control
  const auto moves = [&] { return loader->explain()["decisions"]["totals"]["moves"].get<int>(); };
  for (const int before = moves(); moves() == before && std::chrono::steady_clock::now() < end;) {
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_LT(std::chrono::steady_clock::now(), end);
  loader.reset();
  EXPECT_EQ(drain(*two).size(), 20u);
}

TEST(Loader, FrozenKnobsStay) {
  const auto loader = loader_of(pictures(400), {.policy = {.name = "random_raw"}, .budget = {.cpus = 7}});
  loader->control().freeze(true);
  auto iterator = *loader->iterate({});
  const Settings before = loader->settings();
  drain(*iterator, 10ms);
  EXPECT_EQ(loader->settings(), before);
  iterator->close();
  drain(**loader->iterate({.epoch = 1}), 10ms);
  EXPECT_EQ(loader->settings(), before);
  EXPECT_EQ(loader->explain()["decisions"]["status"], "frozen");
  EXPECT_EQ(loader->explain()["decisions"]["totals"]["decisions"], 0);
}

TEST(Loader, AppliedSettingsAreFittedAndCarriedToTheNextPass) {
  const auto loader = loader_of(pictures(40), {.budget = {.cpus = 2}});
  Settings settings = loader->settings();
  settings[KnobId::kWorkers] = 500;
  settings[KnobId::kFused] = 0;
  loader->apply(settings);
  drain(**loader->iterate({}));
  EXPECT_EQ(loader->settings()[KnobId::kWorkers], 2);
  EXPECT_EQ(loader->settings()[KnobId::kFused], 0);
  settings[KnobId::kWorkers] = 1;
  loader->apply(settings);  // between two passes
  const auto iterator = *loader->iterate({});
  EXPECT_EQ(loader->settings()[KnobId::kWorkers], 1);
  settings[KnobId::kWorkers] = 2;
  loader->apply(settings);  // during one
  EXPECT_EQ(loader->settings()[KnobId::kWorkers], 2);
}

TEST(Loader, IsAskedAndToldWhatToDoWhilePassesBegin) {
  const auto source = pictures(24);
  const auto expected = drain(**loader_of(source)->iterate({}));
  for (int round = 0; round < 5; ++round) {
    const auto loader = loader_of(source);
    std::atomic<bool> done = false;
    std::jthread asks([&] {
      for (bool frozen = false; !done; frozen = !frozen) {
        EXPECT_TRUE(loader->explain()["plan"].contains("settings"));
        loader->control().freeze(frozen);
        loader->apply(loader->settings());
      }
    });
    for (int pass = 0; pass < 5; ++pass) EXPECT_EQ(drain(**loader->iterate({})), expected);
    done = true;
  }
}

TEST(Loader, AnIteratorOutlivesItsLoaderAndMayBeClosedEarly) {
  auto loader = loader_of(pictures(101));
  auto iterator = *loader->iterate({});
  loader.reset();
  EXPECT_EQ(drain(*iterator).size(), 13u);
  auto second = loader_of(pictures(101));
  auto early = *second->iterate({});
  early->next(10s);
  early->close();
  EXPECT_TRUE(std::holds_alternative<Runner::Finished>(*early->next(10s)));
}

TEST(Loader, AWholePassLeavesItsMemoryToTheNextAndTheLoaderTakesItAlong) {
  const MemoryLedger& memory = Engine::get().memory();
  const std::size_t before = memory.used();
  auto loader = loader_of(pictures(101));
  const std::size_t at_rest = memory.used();
  const auto expected = drain(**loader->iterate({}));
  for (int epoch = 0; epoch < 3; ++epoch) {
    const std::size_t spare = Engine::get().spare_arenas().releasable();
    EXPECT_GT(spare, 0u);
    EXPECT_EQ(memory.used(), at_rest + spare);
    const auto pass = *loader->iterate({});
    EXPECT_EQ(Engine::get().spare_arenas().releasable(), 0u);
    EXPECT_GE(memory.used(), at_rest + spare);  // more where batches of this pass land faster
    EXPECT_EQ(drain(*pass), expected);
  }
  {
    const auto early = *loader->iterate({});
    early->next(10s);
    EXPECT_EQ(Engine::get().spare_arenas().releasable(), 0u);
  }
  EXPECT_EQ(memory.used(), at_rest);  // who ends a pass early gets its memory back
  drain(**loader->iterate({}));
  loader.reset();
  EXPECT_EQ(memory.used(), before);
  EXPECT_EQ(Engine::get().spare_arenas().releasable(), 0u);
}

TEST(Loader, SpareMemoryIsNeverWhatAnotherLoaderLacks) {
  const Budget tight{.bytes = std::size_t{24} << 10};  // some eight batches
  const auto first = loader_of(pictures(101), {.budget = tight});
  const auto second = loader_of(pictures(101), {.budget = tight});
  const auto expected = drain(**first->iterate({}));
  const auto depth = first->settings()[KnobId::kPrefetchDepth];
  for (int epoch = 0; epoch < 3; ++epoch) {
    EXPECT_EQ(drain(**second->iterate({})), expected);
    EXPECT_EQ(drain(**first->iterate({})), expected);
    EXPECT_EQ(first->settings()[KnobId::kPrefetchDepth], depth);
  }
}

TEST(Loader, AnIndexThatGrewTakesNothingFromPrefetching) {
  const Budget tight{.bytes = std::size_t{48} << 10};
  const auto source = pictures(101);
  const auto loader = loader_of(source, {.budget = tight});
  const auto expected = drain(**loader->iterate({}));
  const auto depth = loader->settings()[KnobId::kPrefetchDepth];
  jpeg::MemoryIndexStore index(Engine::get().memory(MemoryUse::kCache), 100, std::size_t{32} << 10);
  const std::vector<jpeg::IndexEntry> entries(60);
  constexpr jpeg::IndexShape kShape{.mcus_across = 4, .mcus_down = 100, .group = 4, .headers = 7, .file_bytes = 9000};
  for (std::uint64_t record = 0; record < 100; ++record) index.offer({record, {}}, kShape, entries);
  const std::size_t grown = index.bytes();
  ASSERT_GT(grown, std::size_t{20} << 10);
  EXPECT_EQ(loader->settings()[KnobId::kPrefetchDepth], depth);
  EXPECT_EQ(drain(**loader->iterate({})), expected);
  EXPECT_EQ(loader->settings()[KnobId::kPrefetchDepth], depth);
  EXPECT_LT(index.bytes(), grown);
}

TEST(Loader, TheSmallestBudgetHoldsForAll) {
  const auto wide = loader_of(pictures(20), {.budget = {.cpus = 4, .bytes = std::size_t{64} << 20}});
  EXPECT_EQ(Engine::get().ram_budget(), std::size_t{64} << 20);
  {
    const auto narrow = loader_of(pictures(20), {.budget = {.cpus = 1.5, .bytes = std::size_t{32} << 20}});
    EXPECT_EQ(Engine::get().ram_budget(), std::size_t{32} << 20);
    EXPECT_EQ(Engine::get().cpu_budget(), 1.5);
  }
  EXPECT_EQ(Engine::get().cpu_budget(), 4);
}

TEST(Loader, TheWeightsAreSharesOrCaps) {
  const auto loader = loader_of(pictures(20), {.weights = WeightUse::kCap});
  EXPECT_EQ(loader->explain()["plan"]["weights"], "cap");
}

TEST(Loader, ABatchThatDoesNotFitTheBudgetIsRefusedBeforeTheFirst) {
  PipelineSpec spec;
  spec.parts = {testing_pictures::picture_part({.ops = {CenterCrop{.height = 512, .width = 512}}})};
  spec.sampler.batch = 256;
  const auto refused = Loader::make(spec, pictures(20), {.budget = {.bytes = 1 << 20}});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("ram_budget"), std::string::npos);
}

TEST(Loader, ThereIsNoUnknownPolicy) { EXPECT_FALSE(Loader::make({}, pictures(3), {.policy = {.name = "best"}}).ok()); }

TEST(Loader, AChildOfForkGoesOnWithTheLoaderButNotWithTheIterator) {
  const auto loader = loader_of(pictures(101), {.policy = {.name = "random_raw"}});
  const auto expected = drain(**loader->iterate({.epoch = 1}));
  auto live = *loader->iterate({.epoch = 1});
  live->next(10s);
  const pid_t child = fork();
  if (child == 0) {
    const auto refused = live->next(1s);
    const bool has_error = refused && std::holds_alternative<Error>(*refused);
    const bool blank = loader->explain()["decisions"]["totals"]["decisions"] == 0 && !loader->settings().knobs.empty();
    const bool same = drain(**loader->iterate({.epoch = 1})) == expected;
    live.reset();
    _exit(has_error && blank && same ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(drain(*live).size(), expected.size() - 1);
}

}  // namespace
}  // namespace drapps
