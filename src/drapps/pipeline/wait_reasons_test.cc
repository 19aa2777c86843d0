// Why workers of a pass find no work, and what its reads wait for.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "drapps/modality/test_pictures.h"
#include "drapps/pipeline/test_pass.h"
#include "drapps/source/encoded.h"
#include "drapps/storage/emulated_storage.h"
#include "drapps/storage/testing.h"

namespace drapps {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kWaitingPictures = 32;
constexpr std::size_t kFetchLane = lane_place(LaneRole::kFetch);

class WaitReasons : public testing::Test {
 protected:
  WaitReasons() {
    for (std::uint32_t i = 0; i < kWaitingPictures; ++i) {
      const auto png = testing_pictures::png(20, 24, i);
      folder_.put(std::to_string(i) + ".png", {png.begin(), png.end()});
      EXPECT_TRUE(paths_.append(folder_.path(std::to_string(i) + ".png")).ok());
    }
    source_ = *FileSource::make(std::move(paths_));
  }
  void read_through(EmulationSpec spec) {
    source_->set_storage(std::make_shared<EmulatedStorage>(*Emulation::make(std::move(spec)), RetryOptions{}));
  }
  std::shared_ptr<const Plan> plan(std::uint32_t size = 16) const {
    const std::string side = std::to_string(size);
    return *Plan::make(*parse_spec(R"({"ops":[{"op":"resize","height":)" + side + R"(,"width":)" + side +
                                   R"(}],"sampler":{"batch":4}})"),
                       *source_);
  }
  /// Returns when workers have waited for some while for this reason.
  void expect(WorkFound reason) {
    const std::uint64_t before = engine_.workers().times().waited(reason);
    while (engine_.workers().times().waited(reason) < before + 30'000'000) std::this_thread::sleep_for(1ms);
  }

  Folder folder_;
  PathList paths_;
  Engine engine_;
  std::shared_ptr<Source> source_;
};

TEST_F(WaitReasons, ReadsThatAreUnderWayAreStorage) {
  read_through({.schedule = {{0, {.latency = 60}}}});
  const auto runner = test_pass::start(engine_, plan(), source_);
  expect(WorkFound::kStorage);
}

TEST_F(WaitReasons, BatchesThatNobodyTakesAreTheWindow) {
  const auto runner = test_pass::start(engine_, plan(), source_);
  expect(WorkFound::kWindow);
  EXPECT_EQ(runner->ready_batches(), 3u);
  // Behind the last sample there is nothing more to do, whoever takes what.
  for (std::uint32_t batch = 0; batch < kWaitingPictures / 4 - 2; ++batch) ASSERT_TRUE(runner->next(60s));
  expect(WorkFound::kNothing);
}

TEST_F(WaitReasons, ABatchThatFindsNoRoomIsMemory) {
  const auto wide = plan(512);
  const auto limit = engine_.limit({.cpus = 3, .bytes = wide->layout.bytes() * 7 / 4});
  const auto runner = test_pass::start(engine_, wide, source_);
  expect(WorkFound::kMemory);
}

TEST_F(WaitReasons, LanesAreTheWorkersTimeToo) {
  const auto runner = test_pass::start(engine_, plan(), source_, false);
  EXPECT_EQ(test_pass::drain(*runner, "image").size(), kWaitingPictures / 4);
  const WorkerTimes times = engine_.workers().times();
  for (const LaneRole role : {LaneRole::kDecode, LaneRole::kAugment, LaneRole::kCollate}) {
    const std::size_t place = lane_place(role);
    const std::uint64_t service = runner->metrics()[place].service_wall.counts().sum;
    EXPECT_EQ(times.lanes[place].wall_ns, service) << kLanes[place].name;
    EXPECT_GT(service, 0u);
    EXPECT_EQ(times.lanes[place].cpu_ns, runner->metrics()[place].service_cpu.counts().sum);
  }
  EXPECT_EQ(times.wall_ns, times.parts_ns());
}

TEST_F(WaitReasons, EveryReadOfAReaderCountsInItsQueue) {
  read_through({.schedule = {{0, {.latency = 0.002}}}});
  const auto runner = test_pass::start(engine_, plan(), source_);
  EXPECT_EQ(test_pass::drain(*runner, "image").size(), kWaitingPictures / 4);
  const LaneMetrics& fetch = runner->metrics()[kFetchLane];
  EXPECT_EQ(fetch.queue_length.counts().count, kWaitingPictures);
  EXPECT_EQ(fetch.wait.counts().count, kWaitingPictures);
  EXPECT_LE(fetch.queue_length.counts().quantile(1), Histogram::upper_edge(Histogram::bucket_of(kWaitingPictures)));
}

TEST_F(WaitReasons, ARefusedReadWaitsForItsTurnWithPausesAndAll) {
  read_through({.schedule = {{0, {.latency = 0.001, .requests_per_second = 40}}}});
  const auto runner = test_pass::start(engine_, plan(), source_);
  EXPECT_EQ(test_pass::drain(*runner, "image").size(), kWaitingPictures / 4);
  const std::uint64_t retries = source_->storage().meter().retries;
  EXPECT_GT(retries, 0u);
  const std::uint64_t least_pause = static_cast<std::uint64_t>(source_->storage().retry().first_pause.count()) / 2;
  EXPECT_GE(runner->metrics()[kFetchLane].wait.counts().sum, retries * least_pause);
}

TEST_F(WaitReasons, WhatWorkersReadAtOnceHasBeenInNoQueue) {
  const auto warm = test_pass::start(engine_, plan(), source_);
  EXPECT_EQ(test_pass::drain(*warm, "image").size(), kWaitingPictures / 4);
  const LaneMetrics& fetch = warm->metrics()[kFetchLane];
  EXPECT_EQ(fetch.service_wall.counts().count, kWaitingPictures);
  EXPECT_EQ(fetch.wait.counts().count, fetch.queue_length.counts().count);
  EXPECT_LT(fetch.wait.counts().count, kWaitingPictures);
}

}  // namespace
}  // namespace drapps
