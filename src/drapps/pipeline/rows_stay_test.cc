// Passes whose batches a device finishes, and of which it makes some rows: those stay there, and the batches are those
// of the host.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "drapps/decode/testing.h"
#include "drapps/device/open.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/pipeline/upload_runner.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;
using test_pass::batches_of;
using test_pass::next_of;

constexpr std::uint32_t kStaying = 70;

/// JPEGs, some of which are damaged, and now and then a PNG, which no device decodes.
std::shared_ptr<Source> staying_source() {
  auto bytes = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
  for (std::uint32_t i = 0; i < kStaying; ++i) {
    const Extent extent{50 + static_cast<std::int32_t>(i) % 31, 70 + static_cast<std::int32_t>(i) % 17};
    bytes->push_back(i % 9 == 4 ? testing_pictures::png(40, 50, i)
                                : testing::encode_jpeg(extent, {.horizontal = 1 + static_cast<int>(i % 2), .seed = i}));
    if (i % 11 == 6) bytes->back().resize(bytes->back().size() / 3);
  }
  std::vector<MemorySource::Bytes> records(bytes->begin(), bytes->end());
  return *MemorySource::make(std::move(records), bytes);
}

class RowsStay : public ::testing::Test {
 protected:
  RowsStay() {
    device::allow_host_device(device::HostDeviceOptions{.copy_latency = 100us, .launch_latency = 200us});
    describe(OnError::kReplace);
  }
  void TearDown() override { device::allow_host_device({}); }

  void describe(OnError on_error) {
    PipelineSpec spec;
    spec.parts = {testing_pictures::picture_part(
        {.ops = {RandomResizedCrop{.height = 24, .width = 20}, HorizontalFlip{}, ColorJitter{.brightness = {0.5, 1.5}},
                 RandomErasing{.p = 0.5, .mode = EraseMode::kNormalPerPixel}},
         .tensor = {.mean = {0.4F, 0.5F, 0.6F}, .std = {0.2F, 0.3F, 0.2F}}})};
    spec.sampler = {.shuffle = true, .seed = 3, .batch = 8, .remainder = Remainder::kPad};
    spec.on_error = on_error;
    plan_ = *Plan::make(std::move(spec), *source_);
    learned_ = plan_->parts.front()->new_store(MemoryLedger::unlimited(), kStaying, std::size_t{16} << 20);
    const auto on_host = start(0, 0);
    expected_ = batches_of(*on_host, true);  // and learns indexes
    late_.reset();
    upload_ = *BatchUpload::make("host", *plan_, *source_);
    room_ = std::make_shared<DeviceRoom>(*device::open_device("host"), MemoryKind{}, std::size_t{1} << 30);
    late_ = *upload_->plan()->parts.front()->late_stage(room_, engine_.memory(MemoryUse::kWorkspaces));
  }

  std::unique_ptr<Runner> start(std::int32_t decode, std::int32_t augment, std::uint64_t from = 0) {
    Settings settings;
    settings[KnobId::kWorkers] = 3;
    settings[KnobId::kIoDepth] = 4;
    settings[KnobId::kPrefetchDepth] = 3;
    settings[KnobId::kFused] = 1;
    settings[KnobId::kDecodeOnGpu] = decode;
    settings[KnobId::kAugmentOnGpu] = augment;
    return *make_runner({.plan = plan_,
                         .source = source_,
                         .sampler = *Sampler::make(plan_->spec.sampler, 0, from),
                         .seed = 9,
                         .settings = settings,
                         .engine = engine_,
                         .arena = nullptr,
                         .learned = learned_,
                         .upload = decode > 0 ? upload_ : nullptr,
                         .late = decode > 0 ? late_ : nullptr});
  }

  Engine engine_;
  std::unique_ptr<Engine::Limit> limit_ = engine_.limit({.cpus = 3, .bytes = std::size_t{512} << 20});
  std::shared_ptr<Source> source_ = staying_source();
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<LearnedStore> learned_;
  std::vector<std::string> expected_;
  std::shared_ptr<BatchUpload> upload_;
  std::shared_ptr<DeviceRoom> room_;
  std::shared_ptr<LateStage> late_;  // after what it makes rows of
};

TEST_F(RowsStay, NoneIsCopiedBack) {
  EXPECT_TRUE(batches_of(*start(16, 16), true) == expected_);
  const LateCounts counts = late_->counts();
  EXPECT_GT(counts.augmented, kStaying / 3);
  EXPECT_EQ(counts.stayed, counts.augmented);
  EXPECT_LT(counts.device.bytes_out, std::size_t{24 * 20 * 3});  // verdicts on segments, and no row
}

TEST_F(RowsStay, AnyShareMakesTheSameBatches) {
  for (const OnError on_error : {OnError::kReplace, OnError::kSkip, OnError::kRaise}) {
    describe(on_error);
    for (const auto& [decode, augment] : {std::pair{16, 8}, {5, 16}, {16, 0}, {16, 16}}) {
      EXPECT_TRUE(batches_of(*start(decode, augment), true) == expected_) << decode << " " << augment;
    }
    EXPECT_GT(late_->counts().stayed, 0u);
  }
}

TEST_F(RowsStay, SharesMoveWithinAPassThatIsResumed) {
  const auto runner = start(16, 16, 16);
  std::vector<std::string> batches;
  for (std::int32_t share = 3;; share = (share * 5 + 7) % 17) {
    Settings settings;
    settings[KnobId::kWorkers] = 2;
    settings[KnobId::kPrefetchDepth] = 2;
    settings[KnobId::kDecodeOnGpu] = share;
    settings[KnobId::kAugmentOnGpu] = 16 - share / 2;
    runner->apply(settings);
    const auto next = next_of(*runner);
    if (std::holds_alternative<Runner::Finished>(next)) break;
    batches.push_back(test_pass::all_of(std::get<Batch>(next)) + test_pass::place_of(*runner));
  }
  EXPECT_TRUE(batches == std::vector<std::string>(expected_.begin() + 2, expected_.end()));
}

TEST_F(RowsStay, WithoutMemoryThereTheyComeBack) {
  ASSERT_TRUE(room_->ledger.try_reserve(room_->ledger.limit() - room_->ledger.used()));
  EXPECT_TRUE(batches_of(*start(16, 16), true) == expected_);
  const LateCounts counts = late_->counts();
  EXPECT_GT(counts.augmented, kStaying / 3);
  EXPECT_EQ(counts.stayed, 0u);
}

TEST_F(RowsStay, ADeviceOfAnotherNameGivesThemBack) {
  room_ = std::make_shared<DeviceRoom>(*device::open_device("host:1"), MemoryKind{}, std::size_t{1} << 30);
  late_ = *upload_->plan()->parts.front()->late_stage(room_, engine_.memory(MemoryUse::kWorkspaces));
  EXPECT_TRUE(batches_of(*start(16, 16), true) == expected_);
  EXPECT_GT(late_->counts().augmented, kStaying / 3);
  EXPECT_EQ(late_->counts().stayed, 0u);
}

TEST_F(RowsStay, EndsAnywhereAndGivesItsMemoryBack) {
  const std::size_t used = room_->ledger.used();
  for (int taken = 0; taken < 4; ++taken) {
    const auto runner = start(16, 16);
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(std::holds_alternative<Batch>(next_of(*runner)));
  }
  EXPECT_EQ(room_->ledger.used(), used);
}

}  // namespace
}  // namespace drapps
