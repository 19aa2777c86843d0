// Passes of which a device decodes some samples: the batches are those of the CPU, whatever happens there.
#include <gtest/gtest.h>

#include <functional>
#include <latch>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "drapps/decode/jpeg/index_memory.h"
#include "drapps/decode/testing.h"
#include "drapps/device/host/host_device.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/device_share.h"
#include "drapps/pipeline/executor.h"
#include "drapps/pipeline/fetch.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;
using drapps::testing::encode_jpeg;

constexpr std::uint32_t kFiles = 90;
constexpr std::uint32_t kLateRows = 16;

/// Indexes of which every entry behind the first is wrong.
class WrongIndexes final : public jpeg::IndexStore {
 public:
  explicit WrongIndexes(std::shared_ptr<jpeg::MemoryIndexStore> right) : right_(std::move(right)) {}
  std::uint32_t group(std::uint32_t across, std::uint32_t down) const noexcept override {
    return right_->group(across, down);
  }
  bool get(const jpeg::IndexKey& key, jpeg::ScanIndex& index) override {
    if (!right_->get(key, index)) return false;
    for (std::size_t i = 1; i < index.entries.size(); ++i) index.entries[i].bit_low ^= 5;
    return true;
  }
  void offer(const jpeg::IndexKey&, const jpeg::IndexShape&, std::span<const jpeg::IndexEntry>) override {}
  std::size_t bytes() const noexcept override { return 0; }

 private:
  const std::shared_ptr<jpeg::MemoryIndexStore> right_;
};

/// Whatever a data set may hold: mostly JPEGs that a device can decode.
std::vector<std::uint8_t> file_of(std::uint32_t i) {
  const Extent extent{60 + static_cast<std::int32_t>(i) % 31, 90 + static_cast<std::int32_t>(i) % 17};
  if (i % 15 == 3) return testing_pictures::png(40, 50, i);
  auto file = encode_jpeg(extent, {.channels = i % 15 == 5  ? 4
                                               : i % 7 == 1 ? 1
                                                            : 3,
                                   .horizontal = i % 15 == 5 || i % 7 == 1 ? 1 : 1 + static_cast<int>(i % 2),
                                   .vertical = i % 15 == 5 || i % 7 == 1 ? 1 : 1 + static_cast<int>(i / 2 % 2),
                                   .progressive = i % 15 == 7,
                                   .restart_interval = i % 5 == 0 ? 4u : 0u,
                                   .seed = i});
  if (i % 15 == 9) {
    for (std::size_t at = file.size() / 2; at < file.size() / 2 + 40; ++at)
      file[at] = static_cast<std::uint8_t>(at * 7);
  }
  if (i % 45 == 11) file.resize(file.size() / 2);
  return file;
}

class LateDecode : public ::testing::Test {
 protected:
  LateDecode() {
    auto bytes = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
    std::vector<MemorySource::Bytes> records;
    for (std::uint32_t i = 0; i < kFiles; ++i) bytes->push_back(file_of(i));
    for (const auto& each : *bytes) records.emplace_back(each);
    source_ = *MemorySource::make(std::move(records), bytes);
    describe({RandomResizedCrop{.height = 24, .width = 32}, HorizontalFlip{}}, {.dtype = Dtype::kFloat32});
  }

  void describe(std::vector<Op> ops, const TensorFormat& tensor) {
    PipelineSpec spec;
    spec.parts = {testing_pictures::picture_part({.ops = std::move(ops), .tensor = tensor})};
    spec.sampler = {.shuffle = true, .seed = 3, .batch = kLateRows};
    spec.on_error = OnError::kReplace;
    decoder_.reset();
    auto plan = Plan::make(spec, *source_);
    ASSERT_TRUE(plan.ok()) << plan.error().message;
    plan_ = *std::move(plan);
    learned_ = plan_->parts.front()->new_store(MemoryLedger::unlimited(), kFiles, std::size_t{16} << 20);
    expected_ = drain(*start({}, nullptr));  // and learns all indexes that crops do not cut short
  }

  std::shared_ptr<LateStage> decoder() {
    if (decoder_ == nullptr) {
      auto room = std::make_shared<DeviceRoom>(device_, MemoryKind{}, std::size_t{1} << 30);
      decoder_ = *plan_->parts.front()->late_stage(room, engine_.memory(MemoryUse::kWorkspaces));
    }
    return decoder_;
  }

  static Settings shares(std::int32_t decode, std::int32_t augment = 0, bool fused = true) {
    Settings settings;
    settings[KnobId::kWorkers] = 3;
    settings[KnobId::kIoDepth] = 4;
    settings[KnobId::kPrefetchDepth] = 3;
    settings[KnobId::kFused] = fused ? 1 : 0;
    settings[KnobId::kDecodeOnGpu] = decode;
    settings[KnobId::kAugmentOnGpu] = augment;
    return settings;
  }

  std::unique_ptr<Runner> start(const Settings& settings, const std::shared_ptr<LateStage>& late,
                                std::uint64_t position = 0) {
    return *make_runner({.plan = plan_,
                         .source = source_,
                         .sampler = *Sampler::make(plan_->spec.sampler, 0, position),
                         .settings = late == nullptr ? shares(0) : settings,
                         .engine = engine_,
                         .arena = nullptr,
                         .learned = learned_,
                         .late = late});
  }
  /// A number for each batch, so that what differs is not printed.
  static std::vector<std::size_t> drain(Runner& runner) {
    std::vector<std::size_t> sums;
    for (const std::string& batch : test_pass::drain(runner, "image")) sums.push_back(std::hash<std::string>()(batch));
    return sums;
  }

  Engine engine_;
  std::unique_ptr<Engine::Limit> limit_ = engine_.limit({.cpus = 3, .bytes = std::size_t{512} << 20});
  std::shared_ptr<device::HostDevice> device_ = std::make_shared<device::HostDevice>(
      device::HostDeviceOptions{.memory_bytes = std::size_t{1} << 30, .launch_latency = 200us});
  std::shared_ptr<Source> source_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<LearnedStore> learned_;
  std::vector<std::size_t> expected_;
  std::shared_ptr<LateStage> decoder_;  // after the plan, whose rows it makes
};

TEST(DeviceShare, IsOfEverySixteenNeighbours) {
  for (std::int32_t share = 0; share <= 16; ++share) {
    Settings settings;
    settings[KnobId::kDecodeOnGpu] = share;
    for (const std::uint64_t first : {0u, 32u, 1600u}) {
      std::int32_t there = 0;
      for (std::uint64_t i = first; i < first + 16; ++i) there += decodes_on_device(i, settings) ? 1 : 0;
      EXPECT_EQ(there, share);
    }
  }
}

TEST_F(LateDecode, AnyShareMakesTheSameBatches) {
  std::uint64_t before = 0;
  for (const auto& [decode, augment, fused] :
       {std::tuple{16, 0, true}, {16, 16, true}, {16, 8, false}, {5, 3, true}, {16, 0, false}}) {
    EXPECT_EQ(drain(*start(shares(decode, augment, fused), decoder())), expected_) << decode << " " << augment;
    const LateCounts counts = decoder_->counts();
    EXPECT_GT(counts.decoded, before + (decode == 16 ? kFiles / 4 : 0));
    before = counts.decoded;
  }
  EXPECT_GT(decoder_->counts().augmented, 0u);
}

TEST_F(LateDecode, SharesMoveWithinAPass) {
  const auto runner = start(shares(3), decoder());
  std::vector<std::size_t> batches;
  for (std::int32_t share = 0;; share = (share * 5 + 7) % 17) {
    runner->apply(shares(share, 16 - share, share % 2 == 0));
    const auto next = runner->next(60s);
    ASSERT_TRUE(next);
    if (std::holds_alternative<Runner::Finished>(*next)) break;
    const auto& batch = std::get<Batch>(*next);
    const Column& column = batch.plan->layout.columns()[batch.plan->layout.find("image")];
    batches.push_back(std::hash<std::string_view>()(
        {reinterpret_cast<const char*>(batch.slot.data()) + column.offset, batch.rows * column.row_bytes}));
  }
  EXPECT_EQ(batches, expected_);
}

TEST_F(LateDecode, OtherOpsAndFormatsToo) {
  const std::vector<std::pair<std::vector<Op>, TensorFormat>> cases{
      {{RandomResizedCrop{.height = 20, .width = 20}, ColorJitter{.brightness = {0.5F, 1.5F}}},
       {.dtype = Dtype::kUint8, .layout = Layout::kNhwc, .scale = false}},
      {{RandomResizedCrop{.height = 22, .width = 18}, HorizontalFlip{},
        ColorJitter{.brightness = {0.5, 1.5}, .contrast = {0.5, 1.5}, .saturation = {0.5, 1.5}, .hue = {-0.2, 0.2}},
        RandomErasing{.p = 0.7, .mode = EraseMode::kNormalPerPixel}},
       {.dtype = Dtype::kFloat32, .mean = {0.4F}, .std = {0.3F}}},
      {{ColorJitter{.contrast = {0.5, 1.5}}, Grayscale{}, CenterCrop{.height = 40, .width = 40}},
       {.dtype = Dtype::kFloat32}},
      {{RandomResizedCrop{.height = 16, .width = 22}, HorizontalFlip{}},
       {.dtype = Dtype::kFloat16, .layout = Layout::kNhwc, .mean = {0.4F}, .std = {0.3F}}},
      {{Resize{.height = 30, .width = 26}, RandomCrop{.height = 24, .width = 24}},
       {.dtype = Dtype::kBfloat16, .layout = Layout::kNhwc}}};
  for (const auto& [ops, tensor] : cases) {
    describe(ops, tensor);
    EXPECT_EQ(drain(*start(shares(16, 16), decoder())), expected_);
    EXPECT_GT(decoder_->counts().decoded, kFiles / 4);
    EXPECT_EQ(decoder_->counts().augmented > 0, decoder_->augments());
  }
  EXPECT_TRUE(decoder_->augments());
}

TEST_F(LateDecode, WhatIsResumedIsPlacedAsBefore) {
  const auto runner = start(shares(16, 4), decoder(), 2 * kLateRows);
  EXPECT_EQ(drain(*runner), std::vector<std::size_t>(expected_.begin() + 2, expected_.end()));
}

/// Waits for one sample.
class OneSample final : public LateSink {
 public:
  void late_decoded(Sample&) noexcept override { ended_.count_down(); }
  void wait() { ended_.wait(); }

 private:
  std::latch ended_{1};
};

TEST_F(LateDecode, AWrongIndexIsFoundAndThePictureDecodedWithoutIt) {
  const Sampler sampler = *Sampler::make(plan_->spec.sampler, 0, 0);
  const auto wrong = std::make_shared<WrongIndexes>(std::dynamic_pointer_cast<jpeg::MemoryIndexStore>(learned_));
  const Preparer preparer(plan_, source_, sampler, 0, wrong), right(plan_, source_, sampler, 0, nullptr);
  Workspace workspace = preparer.new_workspace(MemoryLedger::unlimited());
  Workspace other = right.new_workspace(MemoryLedger::unlimited());
  std::size_t returned = 0;
  for (std::uint32_t i = 0; i < 2 * kLateRows; ++i) {
    SampleTask task(MemoryLedger::unlimited());
    const Sampler::Row row = sampler.row(0, i % kLateRows);
    std::vector<std::byte> slots[2] = {std::vector<std::byte>(plan_->layout.bytes()),
                                       std::vector<std::byte>(plan_->layout.bytes())};
    task.sample.source = source_.get();
    task.begin({.row = row, .record = row.index}, {.step = 0, .row = i % kLateRows, .slot = slots[0].data()}, false);
    ask(task.sample);
    ASSERT_TRUE(source_->storage().try_read(task.read));
    task.sample.workspace = &workspace;
    OneSample sink;
    if (!preparer.decode_late(task, *decoder(), sink, i % 2 == 0)) continue;
    decoder()->release(task.sample);
    sink.wait();
    EXPECT_EQ(task.sample.late, nullptr);
    EXPECT_TRUE(task.sample.decoded.distrusted);
    ++returned;
    const Status status = preparer.prepare(task);
    task.place.slot = slots[1].data();
    task.sample.workspace = &other;
    EXPECT_EQ(right.prepare(task).ok(), status.ok());
    EXPECT_EQ(slots[0], slots[1]) << row.index;
  }
  EXPECT_GT(returned, kLateRows / 2);
}

TEST_F(LateDecode, ALostDeviceChangesNoBatchAndIsToldOnce) {
  for (const std::uint32_t batches : {0u, 2u}) {
    decoder_.reset();
    device_ = std::make_shared<device::HostDevice>(device::HostDeviceOptions{.launch_latency = 1ms});
    const auto runner = start(shares(16), decoder());
    const std::vector<std::size_t> rest(expected_.begin() + batches, expected_.end());
    for (std::uint32_t i = 0; i < batches; ++i) ASSERT_TRUE(runner->next(60s));
    device_->lose();
    EXPECT_EQ(drain(*runner), rest);
    EXPECT_EQ(drain(*start(shares(16), decoder_)), expected_);
    EXPECT_NE(decoder_->take_warning().find("the host device was lost"), std::string::npos);
    EXPECT_EQ(decoder_->take_warning(), "");
  }
  decoder_.reset();
}

TEST_F(LateDecode, EndsAnywhereAndGivesItsMemoryBack) {
  const std::size_t used = engine_.memory().used();
  for (int i = 0; i < 12; ++i) {
    const auto runner = start(shares(16, i), decoder());
    for (int k = 0; k < i % 4; ++k) EXPECT_TRUE(runner->next(60s));
    EXPECT_GT(engine_.memory().used(), used);
  }
  decoder_.reset();
  EXPECT_EQ(engine_.memory().used(), used);
  EXPECT_EQ(device_->used(), 0u);
}

TEST_F(LateDecode, TwoPassesShareADevice) {
  const auto one = start(shares(16), decoder());
  const auto other = start(shares(9, 9), decoder());
  EXPECT_EQ(drain(*one), expected_);
  EXPECT_EQ(drain(*other), expected_);
}

TEST_F(LateDecode, WithoutMemoryThereIsNone) {
  const auto part = plan_->parts.front();
  const auto room = std::make_shared<DeviceRoom>(device_, MemoryKind{}, std::size_t{1} << 20);
  MemoryLedger host(std::size_t{1} << 30);
  EXPECT_EQ(part->late_stage(room, host).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(host.used(), 0u);
  MemoryLedger little(std::size_t{1} << 20);
  const auto large = std::make_shared<DeviceRoom>(device_, MemoryKind{}, std::size_t{1} << 30);
  EXPECT_EQ(part->late_stage(large, little).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(device_->used(), 0u);
}

}  // namespace
}  // namespace drapps
