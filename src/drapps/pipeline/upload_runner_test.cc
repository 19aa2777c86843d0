#include "drapps/pipeline/upload_runner.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "drapps/device/open.h"
#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;
using test_pass::all_of;
using test_pass::batches_of;
using test_pass::next_of;
using test_pass::place_of;

constexpr std::uint32_t kCarried = 53;

/// Small pictures, of which every ninth is damaged, with labels.
std::shared_ptr<Source> carried_source(bool damaged = false) {
  auto bytes = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
  for (std::uint32_t i = 0; i < kCarried; ++i) bytes->push_back(testing_pictures::png(20 + i % 7, 24 + i % 5, i));
  for (std::uint32_t i = 4; damaged && i < kCarried; i += 9) (*bytes)[i].resize(30);
  std::vector<MemorySource::Bytes> records(bytes->begin(), bytes->end());
  Targets targets;
  targets.labels.push_back({"label", {}});
  for (std::int64_t i = 0; i < kCarried; ++i) targets.labels[0].values.push_back(i % 7);
  return *MemorySource::make(std::move(records), bytes, {}, std::move(targets));
}

std::vector<Op> erasing_ops() {
  return {RandomResizedCrop{.height = 16, .width = 12}, HorizontalFlip{}, ColorJitter{},
          RandomErasing{.p = 0.6, .mode = EraseMode::kNormalPerPixel},
          RandomErasing{.p = 0.6, .value = {1, -2, 0.5}, .max_count = 3}};
}

class UploadRunnerTest : public testing::Test {
 protected:
  UploadRunnerTest() {
    limit_ = engine_.limit({.cpus = 3, .bytes = std::size_t{64} << 20});
    allow({});
  }
  void TearDown() override { device::allow_host_device({}); }

  static void allow(device::HostDeviceOptions options) {
    options.copy_latency = 200us;
    options.launch_latency = 300us;
    device::allow_host_device(options);
  }

  static std::shared_ptr<const Plan> plan_of(const Source& source, PictureFields fields,
                                             OnError on_error = OnError::kRaise) {
    PipelineSpec spec;
    spec.parts = {testing_pictures::picture_part(std::move(fields))};
    spec.sampler = {.shuffle = true, .seed = 3, .batch = 4, .remainder = Remainder::kPad};
    spec.on_error = on_error;
    return *Plan::make(std::move(spec), source);
  }

  std::unique_ptr<Runner> start(const std::shared_ptr<Source>& source, const std::shared_ptr<const Plan>& plan,
                                std::shared_ptr<BatchUpload> upload, std::uint64_t from = 0) {
    Settings settings;
    settings[KnobId::kWorkers] = 2;
    settings[KnobId::kIoDepth] = 4;
    settings[KnobId::kPrefetchDepth] = 3;
    settings[KnobId::kFused] = 1;
    auto runner = make_runner({.plan = plan,
                               .source = source,
                               .sampler = *Sampler::make(plan->spec.sampler, 1, from),
                               .seed = 9,
                               .settings = settings,
                               .engine = engine_,
                               .upload = std::move(upload)});
    EXPECT_TRUE(runner.ok()) << runner.error().message;
    return *std::move(runner);
  }

  static std::shared_ptr<BatchUpload> upload_of(const Plan& plan, const Source& source) {
    auto upload = BatchUpload::make("host", plan, source);
    EXPECT_TRUE(upload.ok()) << upload.error().message;
    return *std::move(upload);
  }

  void compare(const PictureFields& fields, OnError on_error = OnError::kRaise) {
    const auto source = carried_source(on_error != OnError::kRaise);
    const auto plan = plan_of(*source, fields, on_error);
    const auto upload = upload_of(*plan, *source);
    for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{24}}) {
      const auto expected = batches_of(*start(source, plan, nullptr, from), true);
      const auto batches = batches_of(*start(source, plan, upload, from), true);
      ASSERT_EQ(batches.size(), expected.size());
      for (std::size_t i = 0; i < batches.size(); ++i) EXPECT_TRUE(batches[i] == expected[i]) << "batch " << i;
    }
  }

  Engine engine_;
  std::unique_ptr<Engine::Limit> limit_;
};

TEST_F(UploadRunnerTest, TheStreamIsThatOfTheHost) {
  compare({.ops = erasing_ops(), .tensor = {.mean = {0.4F, 0.5F, 0.6F}, .std = {0.2F, 0.3F, 0.2F}}});
  compare({.ops = erasing_ops(), .tensor = {.dtype = Dtype::kBfloat16, .layout = Layout::kNhwc}});
  compare({.ops = {CenterCrop{.height = 9, .width = 11}}, .tensor = {.dtype = Dtype::kInt64, .scale = false}});
}

TEST_F(UploadRunnerTest, MixedBatchesAreThoseOfTheHost) {
  const Mix mix{.mixup_alpha = 1, .cutmix_alpha = 1, .num_classes = 7};
  compare({.ops = erasing_ops(), .tensor = {.dtype = Dtype::kFloat16}, .mix = mix});
}

TEST_F(UploadRunnerTest, BadRowsLeaveWithTheirErasures) {
  compare({.ops = erasing_ops()}, OnError::kSkip);
  compare({.ops = erasing_ops()}, OnError::kReplace);
}

TEST_F(UploadRunnerTest, BatchesMayBeHeldAndDroppedOnOtherThreads) {
  const auto source = carried_source();
  const auto plan = plan_of(*source, {.ops = erasing_ops()});
  const auto expected = batches_of(*start(source, plan, nullptr), true);
  std::vector<std::string> batches;
  auto runner = start(source, plan, upload_of(*plan, *source));
  std::vector<std::thread> users;
  while (true) {
    auto next = next_of(*runner);
    if (std::holds_alternative<Runner::Finished>(next)) break;
    const std::string behind = place_of(*runner);
    batches.push_back(all_of(std::get<Batch>(next)) + behind);
    users.emplace_back([batch = std::get<Batch>(std::move(next)), same = batches.back(), behind] {
      std::this_thread::sleep_for(2ms);
      EXPECT_EQ(all_of(batch) + behind, same);
    });
  }
  runner.reset();
  for (std::thread& user : users) user.join();
  EXPECT_EQ(batches, expected);
}

TEST_F(UploadRunnerTest, ABatchForWhichThereIsNoMemoryStaysForTheNextCall) {
  const auto source = carried_source();
  const auto plan = plan_of(*source, {.ops = erasing_ops()});
  const auto expected = batches_of(*start(source, plan, nullptr), true);
  allow({.memory_bytes = std::size_t{90} << 10});
  auto runner = start(source, plan, upload_of(*plan, *source));
  std::vector<std::string> batches;
  std::vector<Batch> held;
  int refused = 0;
  while (true) {
    auto next = next_of(*runner);
    if (std::holds_alternative<Runner::Finished>(next)) break;
    if (const auto* error = std::get_if<Error>(&next)) {
      ASSERT_EQ(error->code, ErrorCode::kResourceExhausted) << error->to_string();
      ASSERT_FALSE(held.empty());
      held.clear();
      ++refused;
      continue;
    }
    held.push_back(std::get<Batch>(std::move(next)));
    batches.push_back(all_of(held.back()) + place_of(*runner));
  }
  EXPECT_GT(refused, 0);
  EXPECT_EQ(batches, expected);
}

TEST_F(UploadRunnerTest, EachBatchOfALostDeviceIsAnError) {
  allow({.launches = 2});
  const auto source = carried_source();
  const auto plan = plan_of(*source, {.ops = erasing_ops()});
  auto runner = start(source, plan, upload_of(*plan, *source));
  int lost = 0;
  for (auto next = next_of(*runner); !std::holds_alternative<Runner::Finished>(next); next = next_of(*runner)) {
    const auto* error = std::get_if<Error>(&next);
    if (error == nullptr) continue;
    EXPECT_EQ(error->code, ErrorCode::kDeviceLost);
    ++lost;
  }
  EXPECT_GE(lost, 11);
}

TEST_F(UploadRunnerTest, APassThatIsLeftEnds) {
  const auto source = carried_source();
  const auto plan = plan_of(*source, {.ops = erasing_ops()});
  const auto upload = upload_of(*plan, *source);
  for (int taken = 0; taken < 4; ++taken) {
    auto runner = start(source, plan, upload);
    for (int i = 0; i < taken; ++i) EXPECT_TRUE(std::holds_alternative<Batch>(next_of(*runner)));
  }
}

TEST_F(UploadRunnerTest, BytesAreLeftAsTheyAre) {
  const auto source = carried_source();
  const auto plan = plan_of(
      *source, {.ops = {CenterCrop{.height = 9, .width = 11}}, .tensor = {.dtype = Dtype::kUint8, .scale = false}});
  const auto upload = BatchUpload::make("host", *plan, *source);
  ASSERT_FALSE(upload.ok());
  EXPECT_EQ(upload.error().message, "the pictures of a batch are bytes as they are");
}

}  // namespace
}  // namespace drapps
