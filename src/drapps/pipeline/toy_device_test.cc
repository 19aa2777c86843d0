// A device of its own that makes what decoding would: 64 samples together while two workers go on, which samples those
// are chosen for each, and all of them finished late and out of order. The library knows it by what a pass is given.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drapps/modality/columns.h"
#include "drapps/modality/late_stage.h"
#include "drapps/pipeline/device_share.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

constexpr std::size_t kTogether = 64;
constexpr std::uint32_t kToySamples = 512;
constexpr std::uint32_t kToyBatch = 16;

std::string inverted(std::span<const std::uint8_t> bytes) {
  std::string inverse(bytes.size(), '\0');
  std::ranges::transform(bytes, inverse.begin(), [](std::uint8_t byte) { return static_cast<char>(~byte); });
  return inverse;
}

/// Waits until it has 64 samples, then takes whatever is there, and makes them in memory of its own.
class ToyStage final : public LateStage {
 public:
  std::size_t most() const noexcept override { return kTogether; }
  const std::string& why_not_augmented() const noexcept override { return why_not_augmented_; }
  LateCounts counts() const noexcept override { return {}; }
  std::string take_warning() override { return {}; }

  bool list(Sample& sample, LateSink& sink) {
    const std::scoped_lock lock(mutex_);
    listed_.push_back({&sample, &sink});
    return true;
  }
  void release(Sample&) noexcept override {
    const std::scoped_lock lock(mutex_);
    ++released_;
    changed_.notify_one();
  }

  std::vector<std::size_t> groups() const {
    const std::scoped_lock lock(mutex_);
    return groups_;
  }
  std::set<std::uint64_t> positions() const {
    const std::scoped_lock lock(mutex_);
    return positions_;
  }

 private:
  const std::string why_not_augmented_ = "it augments nothing";
  struct ListedSample {
    Sample* sample;
    LateSink* sink;
  };

  void serve(const std::stop_token& stop) {
    std::mt19937 random(5);
    while (true) {
      std::unique_lock lock(mutex_);
      const std::size_t wanted = groups_.empty() ? kTogether : 1;
      if (!changed_.wait(lock, stop, [&] { return released_ >= wanted && released_ == listed_.size(); })) return;
      std::vector<ListedSample> group = std::exchange(listed_, {});
      released_ = 0;
      groups_.push_back(group.size());
      for (const ListedSample& one : group) positions_.insert(one.sample->asked.row.position);
      lock.unlock();
      std::ranges::shuffle(group, random);
      for (const ListedSample& one : group) {
        one.sample->late = std::make_shared<std::string>(inverted(one.sample->read->bytes[kFirstPart]));
        one.sink->late_decoded(*one.sample);
      }
    }
  }

  mutable std::mutex mutex_;  // guards all below but the thread
  std::condition_variable_any changed_;
  std::vector<ListedSample> listed_;
  std::size_t released_ = 0;
  std::vector<std::size_t> groups_;
  std::set<std::uint64_t> positions_;
  std::jthread thread_{[this](const std::stop_token& stop) { serve(stop); }};
};

struct ToyLateState final : PartState {
  std::string bytes;
  void reset() noexcept override { bytes = {}; }
};

class ToyLatePlan final : public PartPlan {
 public:
  explicit ToyLatePlan(std::size_t place) : PartPlan(place) {}

  Status add_columns(BatchColumns& columns) override {
    columns.add("bytes", Dtype::kUint8, {4}, [this](const Sample& sample, std::byte* row) {
      std::memcpy(row, state(sample).bytes.data(), 4);
      return ok_status();
    });
    return ok_status();
  }
  std::unique_ptr<PartState> new_state(MemoryLedger&, const std::shared_ptr<LearnedStore>&) const override {
    return std::make_unique<ToyLateState>();
  }
  bool decode_late(Sample& sample, const PartDraws&, LateStage& stage, LateSink& sink, bool) const override {
    return static_cast<ToyStage&>(stage).list(sample, sink);
  }
  Status decode(Sample& sample, const PartDraws&) const override {
    state(sample).bytes = sample.late != nullptr ? *static_cast<const std::string*>(sample.late.get())
                                                 : inverted(sample.read->bytes[kFirstPart]);
    return ok_status();
  }
  Status augment(Sample&, const PartDraws&) const override { return ok_status(); }
  std::size_t ordinals() const noexcept override { return 0; }
  std::size_t fixed_ops() const noexcept override { return 0; }
  nlohmann::json stages() const override { return nlohmann::json::array(); }

 private:
  ToyLateState& state(const Sample& sample) const { return static_cast<ToyLateState&>(state_of(sample)); }
};

struct ToyLate final : PartSpec {
  std::string_view modality() const noexcept override { return "toy_late"; }
  nlohmann::json to_json() const override { return nlohmann::json::object(); }
  Result<std::shared_ptr<PartPlan>> plan(const std::string&, std::size_t place, const Source&) const override {
    return std::shared_ptr<PartPlan>(std::make_shared<ToyLatePlan>(place));
  }
};

class ToyDeviceTest : public testing::Test {
 protected:
  ToyDeviceTest() {
    auto bytes = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
    for (std::uint32_t i = 0; i < kToySamples; ++i) {
      bytes->push_back({static_cast<std::uint8_t>(i), static_cast<std::uint8_t>(i >> 8), 3, 4});
    }
    std::vector<MemorySource::Bytes> records;
    for (const auto& each : *bytes) records.emplace_back(each);
    source_ = *MemorySource::make(std::move(records), bytes);
    PipelineSpec spec;
    spec.parts = {{"bytes", std::make_shared<ToyLate>()}};
    spec.sampler = {.shuffle = true, .seed = 3, .batch = kToyBatch};
    plan_ = *Plan::make(spec, *source_);
  }

  std::unique_ptr<Runner> start(const std::shared_ptr<LateStage>& stage, std::int32_t share, bool fused) {
    Settings settings;
    settings[KnobId::kWorkers] = 2;
    settings[KnobId::kIoDepth] = 4;
    settings[KnobId::kPrefetchDepth] = 16;
    settings[KnobId::kFused] = fused ? 1 : 0;
    settings[KnobId::kDecodeOnGpu] = share;
    return *make_runner({.plan = plan_,
                         .source = source_,
                         .sampler = *Sampler::make(plan_->spec.sampler, 0, 0),
                         .settings = settings,
                         .engine = engine_,
                         .arena = nullptr,
                         .late = stage});
  }

  Engine engine_;
  std::unique_ptr<Engine::Limit> limit_ = engine_.limit({.cpus = 2, .bytes = std::size_t{64} << 20});
  std::shared_ptr<Source> source_;
  std::shared_ptr<const Plan> plan_;
};

TEST_F(ToyDeviceTest, ItHas64SamplesTogetherWhileTwoWorkersGoOn) {
  const auto expected = test_pass::drain(*start(nullptr, 0, true), "bytes");
  ASSERT_EQ(expected.size(), kToySamples / kToyBatch);
  for (const bool fused : {true, false}) {
    const auto stage = std::make_shared<ToyStage>();
    EXPECT_EQ(test_pass::drain(*start(stage, 16, fused), "bytes"), expected);
    EXPECT_EQ(stage->groups().front(), kTogether);
    EXPECT_LE(std::ranges::max(stage->groups()), kTogether);
  }
}

TEST_F(ToyDeviceTest, WhichSamplesGoThereIsSaidForEachOfThem) {
  constexpr std::int32_t kShare = 10;  // of sixteen
  const auto expected = test_pass::drain(*start(nullptr, 0, true), "bytes");
  const auto stage = std::make_shared<ToyStage>();
  EXPECT_EQ(test_pass::drain(*start(stage, kShare, true), "bytes"), expected);
  std::set<std::uint64_t> chosen;
  for (std::uint64_t position = 0; position < kToySamples; ++position) {
    if (turn_of(position) < kShare) chosen.insert(position);
  }
  // What it has no room for goes on here.
  EXPECT_GE(stage->positions().size(), kTogether);
  EXPECT_TRUE(std::ranges::includes(chosen, stage->positions()));
}

}  // namespace
}  // namespace drapps
