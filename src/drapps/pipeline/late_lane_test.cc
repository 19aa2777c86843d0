// A lane that goes on without the worker: what a device is to the executor.
#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/executor.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/encoded.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kRecords = 61;
constexpr std::uint32_t kTasksOfBatch = 8;

/// Takes rows, and finishes them late and out of order, each with its bytes inverted.
class ToyDevice {
 public:
  explicit ToyDevice(std::uint32_t failing = kRecords) : failing_(failing) {}
  static constexpr std::uint32_t kAll = kRecords + 1;

  Status begin(SampleTask& task, LaneSink& sink) {
    const std::scoped_lock lock(mutex_);
    under_way_.push_back({&task, &sink});
    most_ = std::max(most_, under_way_.size());
    changed_.notify_one();
    return ok_status();
  }
  std::size_t most() const { return most_; }

 private:
  struct UnderWay {
    SampleTask* task;
    LaneSink* sink;
  };

  void serve(const std::stop_token& stop) {
    std::mt19937 random(3);
    while (true) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !under_way_.empty(); })) return;
      changed_.wait_for(lock, stop, 20ms, [this] { return under_way_.size() > 3; });
      std::swap(under_way_[random() % under_way_.size()], under_way_.back());
      const UnderWay one = under_way_.back();
      under_way_.pop_back();
      lock.unlock();
      if (failing_ == kAll || one.task->sample.asked.record == failing_) {
        one.sink->lane_ended(*one.task, Error{.code = ErrorCode::kCorrupt, .message = "the toy refuses it"});
        continue;
      }
      auto* pixels = reinterpret_cast<std::uint8_t*>(one.task->place.slot) + offset + one.task->place.row * row_bytes;
      for (std::size_t i = 0; i < row_bytes; ++i) pixels[i] = static_cast<std::uint8_t>(~pixels[i]);
      one.sink->lane_ended(*one.task, ok_status());
    }
  }

  const std::uint32_t failing_;
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::vector<UnderWay> under_way_;
  std::size_t most_ = 0;

 public:
  std::size_t offset = 0;  // of the pictures in a slot
  std::size_t row_bytes = 0;

 private:
  std::jthread thread_{[this](const std::stop_token& stop) { serve(stop); }};
};

class LateLane : public testing::Test {
 protected:
  LateLane() {
    PipelineSpec spec;
    spec.parts = {
        testing_pictures::picture_part({.ops = {RandomResizedCrop{.height = 16, .width = 12}, HorizontalFlip{}},
                                        .tensor = {.dtype = Dtype::kUint8, .scale = false}})};
    spec.sampler = {.shuffle = true, .seed = 3, .batch = kTasksOfBatch};
    spec_ = spec;
    auto bytes = std::make_shared<std::vector<std::vector<std::uint8_t>>>();
    std::vector<MemorySource::Bytes> records;
    for (std::uint32_t i = 0; i < kRecords; ++i) bytes->push_back(testing_pictures::png(20 + i % 7, 24 + i % 5, i));
    for (const auto& each : *bytes) records.emplace_back(each);
    source_ = *MemorySource::make(std::move(records), bytes);
  }

  /// The plan as it is, or with the toy's lane at the end of both lists.
  std::shared_ptr<const Plan> plan(ToyDevice* toy, OnError on_error = OnError::kRaise) const {
    PipelineSpec spec = spec_;
    spec.on_error = on_error;
    const auto plain = *Plan::make(spec, *source_);
    if (toy == nullptr) return plain;
    const Column& image = plain->layout.columns()[plain->layout.find("image")];
    toy->offset = image.offset;
    toy->row_bytes = image.row_bytes;
    auto changed = std::make_shared<Plan>(*plain);
    for (auto* lanes : {&changed->lanes.fused, &changed->lanes.split}) {
      lanes->back().next = lanes->size();
      lanes->push_back(
          {.place = lane_place(LaneRole::kTransfer, LaneDevice::kCuda),
           .work = [toy](const Preparer&, SampleTask& task, LaneSink& sink) { return toy->begin(task, sink); },
           .late = true});
    }
    return changed;
  }

  std::unique_ptr<Runner> start(const std::shared_ptr<const Plan>& plan, bool fused) {
    return test_pass::start(engine_, plan, source_, fused);
  }
  static std::vector<std::string> drain(Runner& runner) { return test_pass::drain(runner, "image"); }

  Engine engine_;
  std::unique_ptr<Engine::Limit> limit_ = engine_.limit({.cpus = 3, .bytes = std::size_t{64} << 20});
  PipelineSpec spec_;
  std::shared_ptr<Source> source_;
};

TEST_F(LateLane, RowsThatADeviceFinishesLateAndOutOfOrderMakeTheSameBatches) {
  std::vector<std::string> expected = drain(*start(plan(nullptr), true));
  ASSERT_EQ(expected.size(), 8u);
  for (std::string& batch : expected) {
    for (char& byte : batch) byte = static_cast<char>(~byte);
  }
  for (const bool fused : {true, false}) {
    ToyDevice toy;
    const auto executor = start(plan(&toy), fused);
    EXPECT_EQ(drain(*executor), expected) << fused;
    EXPECT_GT(toy.most(), 3u);  // more than there are workers
    const auto place = lane_place(LaneRole::kTransfer, LaneDevice::kCuda);
    EXPECT_EQ(executor->metrics()[place].service_wall.counts().count, kRecords);
  }
}

TEST_F(LateLane, WhatFailsThereIsTheSamplesErrorUnderEveryOnError) {
  for (const OnError on_error : {OnError::kRaise, OnError::kReplace, OnError::kSkip}) {
    ToyDevice toy(7);
    const auto executor = start(plan(&toy, on_error), true);
    const auto batches = drain(*executor);
    ASSERT_EQ(batches.size(), 8u);
    EXPECT_EQ(std::count(batches.begin(), batches.end(), "the toy refuses it"), on_error == OnError::kRaise ? 1 : 0);
    const std::uint64_t rows = kRecords - (on_error == OnError::kSkip ? 1 : 0);
    if (on_error != OnError::kRaise) {
      EXPECT_EQ(executor->metrics().samples, rows);
    }
    EXPECT_EQ(executor->metrics().failed_samples, 1u);
  }
}

TEST_F(LateLane, AReplacementThatFailsThereTooIsNotTriedForEver) {
  ToyDevice toy(ToyDevice::kAll);
  const auto executor = start(plan(&toy, OnError::kReplace), true);
  EXPECT_EQ(drain(*executor), std::vector<std::string>(8));  // batches without rows
  const auto bad = executor->bad_samples();
  EXPECT_EQ(std::count_if(bad.begin(), bad.end(),
                          [](const Error& error) { return error.message.find("none of 16") != std::string::npos; }),
            kRecords);
}

TEST_F(LateLane, EndingWaitsForWhatADeviceStillHas) {
  for (int i = 0; i < 20; ++i) {
    ToyDevice toy;
    const auto executor = start(plan(&toy), i % 2 == 0);
    for (int k = 0; k < i % 3; ++k) EXPECT_TRUE(executor->next(60s));
  }
  EXPECT_EQ(engine_.memory().used(), 0u);
}

}  // namespace
}  // namespace drapps
