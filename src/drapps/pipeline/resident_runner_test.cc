// Batches made on the host device, against those of the other runner: byte for byte.
#include "drapps/pipeline/resident_runner.h"

#include <gtest/gtest.h>

#include <thread>

#include "drapps/deliver/dlpack.h"
#include "drapps/device/open.h"
#include "drapps/modality/picture.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;
using device::allow_host_device;
using test_pass::all_of;
using test_pass::batches_of;
using test_pass::next_of;

constexpr std::uint64_t kMembers = 203;
constexpr Extent kShape{11, 14};
constexpr std::size_t kArrayBytes = kMembers * (3 * kShape.height * kShape.width + 8 + 7);

/// Colour pictures as CIFAR's lie, labels, and rows of an odd size.
struct ResidentData {
  std::vector<std::uint8_t> pictures = std::vector<std::uint8_t>(kMembers * 3 * kShape.height * kShape.width);
  std::vector<std::int64_t> labels = std::vector<std::int64_t>(kMembers);
  std::vector<std::uint8_t> odd = std::vector<std::uint8_t>(kMembers * 7);

  ResidentData() {
    for (std::size_t i = 0; i < pictures.size(); ++i) pictures[i] = static_cast<std::uint8_t>(i * 2654435761u >> 11);
    for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i * 5);
    for (std::size_t i = 0; i < odd.size(); ++i) odd[i] = static_cast<std::uint8_t>(i * 13);
  }

  std::shared_ptr<Source> source(bool pictured, bool subset) const {
    std::vector<Array> arrays{
        {.name = "label",
         .dtype = Dtype::kInt64,
         .data = reinterpret_cast<const std::byte*>(labels.data()),
         .stride = 8,
         .rows = kMembers},
        {.name = "odd",
         .dtype = Dtype::kUint8,
         .row_shape = {7},
         .data = reinterpret_cast<const std::byte*>(odd.data()),
         .stride = 7,
         .rows = kMembers},
    };
    std::optional<PictureArray> picture;
    if (pictured) {
      picture = PictureArray{.name = "image",
                             .layout = {3, kShape, 1, 3 * kShape.width, 3},
                             .data = pictures.data(),
                             .stride = 3 * kShape.width * kShape.height,
                             .rows = kMembers};
    }
    std::shared_ptr<std::vector<std::uint64_t>> rows;
    if (subset) {
      rows = std::make_shared<std::vector<std::uint64_t>>();
      for (std::uint64_t i = 0; i < 90; ++i) rows->push_back(kMembers - 1 - 2 * i);
    }
    return *ArraySource::make(std::move(arrays), std::move(picture), rows, nullptr);
  }
};

/// The ops of CIFAR's usual training, and formats for them.
std::vector<Op> crop_and_flip() {
  return {RandomCrop{.height = 11, .width = 14, .pad_left = 2, .pad_top = 2, .pad_right = 2, .pad_bottom = 2},
          HorizontalFlip{}};
}

class ResidentRunnerTest : public testing::Test {
 protected:
  ResidentRunnerTest() {
    limit_ = engine_.limit({.cpus = 3, .bytes = std::size_t{64} << 20});
    allow_host_device(device::HostDeviceOptions{.copy_latency = 200us, .launch_latency = 300us});
  }
  void TearDown() override { allow_host_device({}); }

  std::shared_ptr<const Plan> plan(const Source& source, PictureFields fields, std::uint32_t batch = 32) {
    PipelineSpec spec;
    spec.parts = {{"image", std::make_shared<PicturePart>(std::move(fields))}};
    spec.sampler = {.shuffle = true, .seed = 3, .batch = batch, .remainder = Remainder::kPad};
    return *Plan::make(std::move(spec), source);
  }

  Result<std::unique_ptr<Runner>> try_start(const std::shared_ptr<Source>& source,
                                            const std::shared_ptr<const Plan>& plan,
                                            std::shared_ptr<Residence> residence, std::uint64_t from = 0) {
    Settings settings;
    settings[KnobId::kWorkers] = 2;
    settings[KnobId::kPrefetchDepth] = 3;
    settings[KnobId::kFused] = 1;
    return make_runner({.plan = plan,
                        .source = source,
                        .sampler = *Sampler::make(plan->spec.sampler, 1, from),
                        .seed = 9,
                        .settings = settings,
                        .engine = engine_,
                        .residence = std::move(residence)});
  }
  std::unique_ptr<Runner> start(const std::shared_ptr<Source>& source, const std::shared_ptr<const Plan>& plan,
                                std::shared_ptr<Residence> residence, std::uint64_t from = 0) {
    auto runner = try_start(source, plan, std::move(residence), from);
    EXPECT_TRUE(runner.ok()) << runner.error().message;
    return *std::move(runner);
  }

  void compare(bool pictured, bool subset, PictureFields fields) {
    const auto source = data_.source(pictured, subset);
    const auto batch_plan = plan(*source, std::move(fields));
    auto residence = Residence::make({"host", 1 << 20}, *batch_plan, *source);
    ASSERT_TRUE(residence.ok()) << residence.error().message;
    for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{64}}) {
      const auto expected = batches_of(*start(source, batch_plan, nullptr, from));
      const auto batches = batches_of(*start(source, batch_plan, *residence, from));
      ASSERT_EQ(batches.size(), expected.size());
      for (std::size_t i = 0; i < batches.size(); ++i) EXPECT_TRUE(batches[i] == expected[i]) << "batch " << i;
    }
  }

  const ResidentData data_;
  Engine engine_;
  std::unique_ptr<Engine::Limit> limit_;
};

TEST_F(ResidentRunnerTest, TheStreamIsThatOfTheCpu) {
  compare(true, false, {.ops = crop_and_flip(), .tensor = {.mean = {0.4F, 0.5F, 0.6F}, .std = {0.2F, 0.3F, 0.2F}}});
  compare(true, true, {.ops = crop_and_flip(), .tensor = {.dtype = Dtype::kBfloat16, .layout = Layout::kNhwc}});
  compare(true, true, {.ops = crop_and_flip(), .tensor = {.dtype = Dtype::kFloat16, .mean = {0.4F}, .std = {0.3F}}});
  compare(true, false, {.tensor = {.dtype = Dtype::kFloat16, .layout = Layout::kNhwc, .scale = false}});
  compare(true, false, {.ops = {RandomResizedCrop{.height = 8, .width = 9}, VerticalFlip{}}});
  compare(true, true, {.tensor = {.dtype = Dtype::kUint8, .scale = false}});
  compare(true, false, {.ops = {RandomApply{.p = 0.5, .count = 1}, VerticalFlip{.p = 1}, HorizontalFlip{}}});
  compare(false, true, {});
}

/// Strong changes of colours, an erasure of each kind, and what the usual trainings have.
std::vector<Op> colors_and_erasures() {
  return {RandomResizedCrop{.height = 9, .width = 10},
          ColorJitter{.brightness = {0.4, 1.6}, .contrast = {0.4, 1.6}, .saturation = {0, 2}, .hue = {-0.3, 0.3}},
          RandomGrayscale{.p = 0.3},
          HorizontalFlip{},
          RandomErasing{.p = 0.6, .mode = EraseMode::kNormalPerPixel},
          RandomErasing{.p = 0.6, .mode = EraseMode::kNormalPerChannel},
          RandomErasing{.p = 0.6, .value = {1, -2, 0.5}}};
}

TEST_F(ResidentRunnerTest, ColoursAndErasuresAreThoseOfTheCpu) {
  compare(true, false,
          {.ops = colors_and_erasures(), .tensor = {.mean = {0.4F, 0.5F, 0.6F}, .std = {0.2F, 0.3F, 0.2F}}});
  for (const Dtype dtype : {Dtype::kBfloat16, Dtype::kFloat16}) {
    compare(true, true, {.ops = colors_and_erasures(), .tensor = {.dtype = dtype, .layout = Layout::kNhwc}});
  }
  compare(true, true,
          {.ops = {RandomApply{.p = 0.5, .count = 2}, ColorJitter{.contrast = {0, 3}}, ColorJitter{.contrast = {0, 3}},
                   RandomCrop{.height = 9, .width = 12}}});
  compare(true, false,
          {.ops = {Grayscale{}, RandomCrop{.height = 11, .width = 14, .pad_left = 3, .fill = {77}}},
           .tensor = {.dtype = Dtype::kUint8, .scale = false}});
}

TEST_F(ResidentRunnerTest, MixedBatchesAreThoseOfTheCpu) {
  for (const Mix& mix :
       {Mix{.mixup_alpha = 1, .p = 0.8, .num_classes = 1011}, Mix{.cutmix_alpha = 1, .num_classes = 1011},
        Mix{.mixup_alpha = 0.4, .cutmix_alpha = 2, .num_classes = 1011}}) {
    compare(true, false, {.ops = crop_and_flip(), .mix = mix});
    for (const Dtype dtype : {Dtype::kBfloat16, Dtype::kFloat16}) {
      compare(true, true, {.tensor = {.dtype = dtype, .layout = Layout::kNhwc}, .mix = mix});
    }
  }
  compare(true, true,
          {.tensor = {.dtype = Dtype::kUint8, .scale = false}, .mix = Mix{.cutmix_alpha = 1, .num_classes = 1011}});
}

TEST_F(ResidentRunnerTest, BatchesThatAreHeldStayAsTheyAre) {
  const auto source = data_.source(true, false);
  const auto batch_plan = plan(*source, {.ops = crop_and_flip()}, 16);
  const auto residence = Residence::make({"host", 4 << 20}, *batch_plan, *source).value();
  const auto expected = batches_of(*start(source, batch_plan, nullptr));
  std::vector<Batch> held;
  {
    const auto runner = start(source, batch_plan, residence);
    while (true) {
      auto next = next_of(*runner);
      ASSERT_FALSE(std::holds_alternative<Error>(next));
      if (std::holds_alternative<Runner::Finished>(next)) break;
      held.push_back(std::get<Batch>(std::move(next)));
    }
  }
  ASSERT_EQ(held.size(), expected.size());
  // Dropped on another thread, in any order, after all else is gone.
  std::jthread([&] {
    for (std::size_t i = 0; i < held.size(); ++i) {
      EXPECT_TRUE(all_of(held[i]) == expected[i]);
      held[i] = {};
    }
  });
}

TEST_F(ResidentRunnerTest, APassThatIsLeftWaitsForTheDevice) {
  const auto source = data_.source(true, false);
  const auto batch_plan = plan(*source, {.ops = crop_and_flip()});
  const auto residence = Residence::make({"host", 1 << 20}, *batch_plan, *source).value();
  for (int batches = 0; batches < 4; ++batches) {
    const auto runner = start(source, batch_plan, residence);
    for (int i = 0; i < batches; ++i) ASSERT_TRUE(runner->next(60s));
  }
}

TEST_F(ResidentRunnerTest, ItTakesNoMoreMemoryThanItMay) {
  const auto source = data_.source(true, false);
  const auto batch_plan = plan(*source, {.ops = crop_and_flip()});
  const Error refused = Residence::check(*batch_plan, *source, 1).error();
  EXPECT_EQ(refused.code, ErrorCode::kTooLarge);
  const std::string begin = "device_memory= cannot be used: the arrays and 2 batches take ";
  ASSERT_TRUE(refused.message.starts_with(begin)) << refused.message;
  EXPECT_TRUE(refused.message.ends_with(" bytes, and it gives 1; raise it, or leave it out")) << refused.message;
  const std::size_t least = std::stoul(refused.message.substr(begin.size()));
  EXPECT_GT(least, kArrayBytes + 2 * batch_plan->layout.bytes());  // with what batches are made from
  EXPECT_FALSE(Residence::check(*batch_plan, *source, least - 1).ok());
  const auto residence = Residence::make({"host", least}, *batch_plan, *source).value();
  const auto runner = start(source, batch_plan, residence);
  EXPECT_EQ(batches_of(*runner), batches_of(*start(source, batch_plan, nullptr)));
  EXPECT_LE(residence->room()->ledger.peak(), least);
}

TEST_F(ResidentRunnerTest, WhatTheDeviceCannotMakeIsRefused) {
  const auto source = data_.source(true, false);
  EXPECT_EQ(
      Residence::check(
          *plan(*source, {.ops = {Resize{.height = 8, .width = 8, .arithmetic = kernel::Arithmetic::kTorchFloat}}}),
          *source, 1 << 30)
          .error()
          .message,
      "device_memory= cannot be used: op 1 (resize) resizes by floats, which no kernel of a device does; leave "
      "it out");
  const auto batch_plan = plan(*source, {});
  EXPECT_EQ(Residence::make({"tpu:1", 1 << 20}, *batch_plan, *source).error().message,
            "device \"tpu:1\" is none; write \"cuda:0\"");
}

/// A stream of the user's waits for the batch, whose memory is filled again when that stream has done with it.
TEST_F(ResidentRunnerTest, AUsersStreamWaitsAndIsWaitedFor) {
  const auto source = data_.source(true, false);
  const auto batch_plan = plan(*source, {.ops = crop_and_flip()}, 16);
  allow_host_device(device::HostDeviceOptions{.copy_latency = 2ms, .launch_latency = 2ms});
  const std::size_t least = kArrayBytes + 2 * batch_plan->layout.bytes() + (16 << 10);  // and what two are made from
  const auto residence = Residence::make({"host", least}, *batch_plan, *source).value();
  const auto expected = batches_of(*start(source, batch_plan, nullptr));
  const auto runner = start(source, batch_plan, residence);
  device::Device& device = residence->device();
  const auto users = device.stream().value();
  const auto end = device.event().value();
  const auto handle = reinterpret_cast<std::uintptr_t>(users.get());
  std::vector<std::pair<Batch, device::Memory>> copies;  // the memory of a batch, and the user's copy of it
  for (;;) {
    auto next = next_of(*runner);
    ASSERT_FALSE(std::holds_alternative<Error>(next));
    if (std::holds_alternative<Runner::Finished>(next)) break;
    Batch batch = std::get<Batch>(std::move(next));
    const std::size_t bytes = batch_plan->layout.bytes();
    device::Memory copy = device.allocate(device::Where::kPinned, bytes).value();
    {
      DlManagedTensor* const view =
          export_dlpack({batch.slot, batch.slot.data(), Dtype::kUint8, {}, batch.slot.hand_over(handle).value()});
      ASSERT_TRUE(users->copy_out(copy.data(), batch.slot.data(), bytes).ok());
      view->deleter(view);  // the host is ahead of the copy
    }
    batch.slot = HeldSlot();
    copies.emplace_back(std::move(batch), std::move(copy));
  }
  ASSERT_TRUE(users->record(*end).ok());
  ASSERT_TRUE(end->wait().ok());
  ASSERT_EQ(copies.size(), expected.size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const auto& [batch, copy] = copies[i];
    std::string all = std::to_string(batch.rows) + "/" + std::to_string(batch.position) + ":";
    for (const Column& column : batch_plan->layout.columns()) {
      all.append(reinterpret_cast<const char*>(copy.data() + column.offset), column.row_bytes * batch.rows);
    }
    EXPECT_TRUE(all == expected[i]) << i;
  }
}

TEST_F(ResidentRunnerTest, TwoLoadersShareADevice) {
  const auto source = data_.source(true, false);
  const auto batch_plan = plan(*source, {.ops = colors_and_erasures()}, 16);
  const auto one = Residence::make({"host", 4 << 20}, *batch_plan, *source).value();
  const auto other = Residence::make({"host", 4 << 20}, *batch_plan, *source).value();
  ASSERT_EQ(&one->device(), &other->device());
  const auto expected = batches_of(*start(source, batch_plan, nullptr));
  std::vector<std::string> batches[2];
  {
    std::jthread thread([&] { batches[0] = batches_of(*start(source, batch_plan, one)); });
    batches[1] = batches_of(*start(source, batch_plan, other));
  }
  EXPECT_TRUE(batches[0] == expected);
  EXPECT_TRUE(batches[1] == expected);
}

/// What the host writes for a batch has its memory from the beginning on, or there is no runner.
TEST_F(ResidentRunnerTest, OthersMayTakeTheRestOfTheDevice) {
  const auto source = data_.source(true, false);
  const auto batch_plan = plan(*source, {.ops = crop_and_flip()});
  const auto expected = batches_of(*start(source, batch_plan, nullptr));
  std::size_t refused = 0;
  for (std::size_t left = 2 * batch_plan->layout.bytes();; left += 2000) {
    allow_host_device(device::HostDeviceOptions{.memory_bytes = kArrayBytes + left});
    const auto residence = Residence::make({"host", std::size_t{64} << 20}, *batch_plan, *source);
    if (!residence.ok()) continue;
    auto runner = try_start(source, batch_plan, *residence);
    if (!runner.ok()) {
      EXPECT_EQ(runner.error().code, ErrorCode::kResourceExhausted);
      ++refused;
      continue;
    }
    auto& device = static_cast<device::HostDevice&>((*residence)->device());
    const auto others = device.allocate(device::Where::kDevice, kArrayBytes + left - device.used());
    ASSERT_TRUE(others.ok());
    EXPECT_TRUE(batches_of(**runner) == expected);
    break;
  }
  EXPECT_GT(refused, 0u);
}

/// What other programs have left of the device's memory decides how many batches are under way, or whether any is.
TEST_F(ResidentRunnerTest, WithoutMemoryForTwoBatchesThereIsNoRunner) {
  const auto source = data_.source(true, false);
  const auto batch_plan = plan(*source, {.ops = crop_and_flip()});
  const auto expected = batches_of(*start(source, batch_plan, nullptr));
  for (const std::size_t halves : {3, 12}) {  // of batches
    allow_host_device(device::HostDeviceOptions{.memory_bytes = kArrayBytes + halves * batch_plan->layout.bytes() / 2});
    const auto residence = Residence::make({"host", std::size_t{64} << 20}, *batch_plan, *source).value();
    auto runner = try_start(source, batch_plan, residence);
    ASSERT_EQ(runner.ok(), halves == 12);
    EXPECT_TRUE(runner.ok() ? batches_of(**runner) == expected : runner.error().code == ErrorCode::kResourceExhausted);
  }
  allow_host_device(device::HostDeviceOptions{.memory_bytes = kArrayBytes / 2});
  EXPECT_EQ(Residence::make({"host", std::size_t{64} << 20}, *batch_plan, *source).error().code,
            ErrorCode::kResourceExhausted);
}

TEST_F(ResidentRunnerTest, ALostDeviceIsAnErrorOfEachBatch) {
  const auto source = data_.source(true, false);
  const auto batch_plan = plan(*source, {.ops = crop_and_flip()});
  const auto residence = Residence::make({"host", 1 << 20}, *batch_plan, *source).value();
  const auto runner = start(source, batch_plan, residence);
  ASSERT_TRUE(std::holds_alternative<Batch>(next_of(*runner)));
  static_cast<device::HostDevice&>(residence->device()).lose();
  const auto rest = batches_of(*runner);
  ASSERT_EQ(rest.size(), (kMembers + 31) / 32 - 1);
  for (const std::string& batch : rest) {
    EXPECT_EQ(batch, "deliver: device lost: the host device was lost; start again, without device=");
  }
}

}  // namespace
}  // namespace drapps
