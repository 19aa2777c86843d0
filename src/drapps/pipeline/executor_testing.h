// What the tests of Executor share: passes over small pictures, and what their batches hold.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/executor.h"
#include "drapps/source/encoded.h"

namespace drapps::executor_testing {

inline constexpr std::uint32_t kSamples = 53;
inline constexpr std::uint32_t kBatch = 8;

inline constexpr Mix kMix{.mixup_alpha = 0.4, .cutmix_alpha = 1, .num_classes = 10 * kSamples};

inline PipelineSpec spec_of(OnError on_error = OnError::kRaise, std::optional<Mix> mix = std::nullopt) {
  PipelineSpec spec;
  spec.parts = {testing_pictures::picture_part(
      {.ops = {RandomResizedCrop{.height = 16, .width = 12}, HorizontalFlip{}, ColorJitter{}}, .mix = mix})};
  spec.sampler = {.shuffle = true, .seed = 3, .batch = kBatch};
  spec.on_error = on_error;
  return spec;
}

/// A source whose record i is a small picture of its own; the records in `bad` are no pictures.
inline std::shared_ptr<Source> picture_source(std::vector<std::uint32_t> bad = {}) {
  auto bytes = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
  std::vector<MemorySource::Bytes> records;
  for (std::uint32_t i = 0; i < kSamples; ++i) bytes->push_back(testing_pictures::png(20 + i % 7, 24 + i % 5, i));
  for (const std::uint32_t i : bad) (*bytes)[i].resize(30);
  for (const auto& each : *bytes) records.emplace_back(each);
  Targets targets;
  targets.labels.push_back({"label", {}});
  for (std::int64_t i = 0; i < kSamples; ++i) targets.labels[0].values.push_back(i * 10);
  return *MemorySource::make(std::move(records), bytes, {}, std::move(targets));
}

inline Settings settings_of(std::int32_t workers, std::int32_t depth, bool fused, std::int32_t io = 4) {
  Settings settings;
  settings[KnobId::kWorkers] = workers;
  settings[KnobId::kIoDepth] = io;
  settings[KnobId::kPrefetchDepth] = depth;
  settings[KnobId::kFused] = fused ? 1 : 0;
  settings.lane_weights[lane_place(LaneRole::kDecode)] = 8;
  settings.lane_weights[lane_place(LaneRole::kAugment)] = 4;
  settings.lane_weights[lane_place(LaneRole::kCollate)] = 4;
  return settings;
}

class ExecutorTest : public ::testing::Test {
 protected:
  ExecutorTest() { limit_ = engine_.limit({.cpus = 7, .bytes = std::size_t{64} << 20}); }

  std::unique_ptr<Executor> start(const std::shared_ptr<Source>& source, const Settings& settings,
                                  OnError on_error = OnError::kRaise, std::uint64_t from = 0,
                                  std::optional<Mix> mix = std::nullopt, WeightUse weights = WeightUse::kShare) {
    PipelineSpec spec = spec_of(on_error, mix);
    auto plan = Plan::make(std::move(spec), *source);
    EXPECT_TRUE(plan.ok()) << plan.error().message;
    auto sampler = Sampler::make((*plan)->spec.sampler, 0, from);
    EXPECT_TRUE(sampler.ok());
    auto executor =
        Executor::make({.plan = *plan,
                        .source = source,
                        .sampler = *sampler,
                        .settings = settings,
                        .engine = engine_,
                        .arena = *SlotArena::make((*plan)->layout.bytes(), engine_.memory(MemoryUse::kBatches)),
                        .weights = weights});
    EXPECT_TRUE(executor.ok());
    return *std::move(executor);
  }

  static Executor::Next take(Executor& executor) {
    for (int patience = 0; patience < 12; ++patience) {
      if (auto next = executor.next(std::chrono::seconds(5))) return *std::move(next);
    }
    ADD_FAILURE() << "no batch within a minute";
    return Executor::Finished{};
  }

  /// A digest of everything in a batch but padding between columns; short, so that a failure is readable.
  static std::string content(const Batch& batch) {
    std::string all;
    for (const Column& column : batch.plan->layout.columns()) {
      all.append(reinterpret_cast<const char*>(batch.slot.data() + column.offset), column.row_bytes * batch.rows);
    }
    return std::to_string(batch.rows) + " rows " + std::to_string(std::hash<std::string>{}(all));
  }

  static std::vector<std::string> drain(Executor& executor) {
    std::vector<std::string> batches;
    for (;;) {
      Executor::Next next = take(executor);
      if (std::holds_alternative<Executor::Finished>(next)) return batches;
      if (const auto* error = std::get_if<Error>(&next)) {
        batches.push_back("error " + error->path +
                          (error->code == ErrorCode::kResourceExhausted ? ": " + error->message : ""));
      } else {
        batches.push_back(content(std::get<Batch>(next)));
      }
    }
  }

  Engine engine_;
  std::unique_ptr<Engine::Limit> limit_;
};

}  // namespace drapps::executor_testing
