// Batches made on the host device, against those of the other runner: byte for byte.
#include "drapps/pipeline/resident_runner.h"

#include <gtest/gtest.h>

#include <thread>

#include "drapps/device/open.h"
#include "drapps/modality/picture.h"
#include "drapps/source/array.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;
using device::allow_host_device;

constexpr std::uint64_t kMembers = 203;
constexpr Extent kShape{11, 14};

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

  std::unique_ptr<Runner> start(const std::shared_ptr<Source>& source, const std::shared_ptr<const Plan>& plan,
                                std::shared_ptr<Residence> residence, std::uint64_t from = 0) {
    Settings settings;
    settings[KnobId::kWorkers] = 2;
    settings[KnobId::kPrefetchDepth] = 3;
    settings[KnobId::kFused] = 1;
    auto made = make_runner({.plan = plan,
                             .source = source,
                             .sampler = *Sampler::make(plan->spec.sampler, 1, from),
                             .seed = 9,
                             .settings = settings,
                             .engine = engine_,
                             .residence = std::move(residence)});
    EXPECT_TRUE(made.ok()) << made.error().message;
    return *std::move(made);
  }

  static std::string all_of(const Batch& batch) {
    std::string all = std::to_string(batch.rows) + "/" + std::to_string(batch.position) + ":";
    for (const Column& column : batch.plan->layout.columns()) {
      all.append(reinterpret_cast<const char*>(batch.slot.data() + column.offset), column.row_bytes * batch.rows);
    }
    return all;
  }

  /// What a runner that waits for nothing gives next.
  static Runner::Next next_of(Runner& runner) {
    auto next = runner.next(60s);
    if (next) return *std::move(next);
    return invalid("no batch within a minute");
  }

  static std::vector<std::string> batches_of(Runner& runner) {
    std::vector<std::string> batches;
    while (true) {
      const auto next = next_of(runner);
      if (std::holds_alternative<Runner::Finished>(next)) return batches;
      if (const auto* error = std::get_if<Error>(&next)) {
        batches.push_back(error->to_string());
      } else {
        batches.push_back(all_of(std::get<Batch>(next)));
      }
    }
  }

  void compare(bool pictured, bool subset, PictureFields fields) {
    const auto source = data_.source(pictured, subset);
    const auto made = plan(*source, std::move(fields));
    auto residence = Residence::make({"host", 1 << 20}, *made, *source);
    ASSERT_TRUE(residence.ok()) << residence.error().message;
    for (const std::uint64_t from : {std::uint64_t{0}, std::uint64_t{64}}) {
      const auto expected = batches_of(*start(source, made, nullptr, from));
      const auto found = batches_of(*start(source, made, *residence, from));
      ASSERT_EQ(found.size(), expected.size());
      for (std::size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(found[i] == expected[i]) << "batch " << i;
    }
  }

  const ResidentData data_;
  Engine engine_;
  std::unique_ptr<Engine::Limit> limit_;
};

TEST_F(ResidentRunnerTest, TheStreamIsThatOfTheCpu) {
  compare(true, false, {.ops = crop_and_flip(), .tensor = {.mean = {0.4F, 0.5F, 0.6F}, .std = {0.2F, 0.3F, 0.2F}}});
  compare(true, true, {.ops = crop_and_flip(), .tensor = {.dtype = Dtype::kBfloat16, .layout = Layout::kNhwc}});
  compare(true, false, {.ops = {RandomResizedCrop{.height = 8, .width = 9}, VerticalFlip{}}});
  compare(true, true, {.tensor = {.dtype = Dtype::kUint8, .scale = false}});
  compare(true, false, {.ops = {RandomApply{.p = 0.5, .count = 1}, VerticalFlip{.p = 1}, HorizontalFlip{}}});
  compare(false, true, {});
}

TEST_F(ResidentRunnerTest, BatchesThatAreHeldStayAsTheyAre) {
  const auto source = data_.source(true, false);
  const auto made = plan(*source, {.ops = crop_and_flip()}, 16);
  const auto residence = Residence::make({"host", 4 << 20}, *made, *source).value();
  const auto expected = batches_of(*start(source, made, nullptr));
  std::vector<Batch> held;
  {
    const auto runner = start(source, made, residence);
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
  const auto made = plan(*source, {.ops = crop_and_flip()});
  const auto residence = Residence::make({"host", 1 << 20}, *made, *source).value();
  for (int batches = 0; batches < 4; ++batches) {
    const auto runner = start(source, made, residence);
    for (int i = 0; i < batches; ++i) ASSERT_TRUE(runner->next(60s));
  }
}

TEST_F(ResidentRunnerTest, ItTakesNoMoreMemoryThanItMay) {
  const auto source = data_.source(true, false);
  const auto made = plan(*source, {});
  const std::size_t arrays = kMembers * (3 * kShape.height * kShape.width + 8 + 7);
  const std::size_t least = arrays + 2 * made->layout.bytes();
  const Status refused = Residence::check(*made, *source, least - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kTooLarge);
  EXPECT_EQ(refused.error().message, "device_memory= cannot be used: the arrays and 2 batches take " +
                                         std::to_string(least) + " bytes, and it gives " + std::to_string(least - 1) +
                                         "; raise it, or leave it out");
  const auto residence = Residence::make({"host", least}, *made, *source).value();
  const auto runner = start(source, made, residence);
  EXPECT_EQ(batches_of(*runner), batches_of(*start(source, made, nullptr)));
  EXPECT_LE(residence->room()->ledger.peak(), least);
}

TEST_F(ResidentRunnerTest, WhatTheDeviceCannotMakeIsRefused) {
  const auto source = data_.source(true, false);
  EXPECT_EQ(Residence::check(*plan(*source, {.ops = {Grayscale{}}}), *source, 1 << 30).error().message,
            "device_memory= cannot be used: op 1 (grayscale) changes pixels, which no kernel of a device does; leave "
            "it out");
  const auto made = plan(*source, {});
  EXPECT_EQ(Residence::make({"host:1", 1 << 20}, *made, *source).error().message,
            "device \"host:1\" is none; write \"cuda:0\"");
}

TEST_F(ResidentRunnerTest, ALostDeviceIsAnErrorOfEachBatch) {
  const auto source = data_.source(true, false);
  const auto made = plan(*source, {.ops = crop_and_flip()});
  const auto residence = Residence::make({"host", 1 << 20}, *made, *source).value();
  const auto runner = start(source, made, residence);
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
