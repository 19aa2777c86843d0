#include "drapps/policy/stage_times.h"

#include <gtest/gtest.h>

namespace drapps {
namespace {

constexpr std::uint64_t kMillisecond = 1'000'000;

Observation after(std::uint64_t batches) {
  Observation seen{.time_ns = 1 + batches * 500 * kMillisecond, .batches = batches, .samples = batches * 64};
  seen.consumer.step = {.count = batches, .sum = batches * 400 * kMillisecond};
  seen.consumer.stall = {.count = batches, .sum = batches * 300 * kMillisecond};
  return seen;
}

/// One sample of each batch took 21 ms; each took 1 ms of a core.
Observation in_processes(std::uint64_t batches) {
  Observation seen = after(batches);
  LaneObservation& python = seen.lanes[lane_place(LaneRole::kPython)];
  python.valid = true;
  python.service_wall = {.count = batches, .sum = batches * 21 * kMillisecond};
  python.service_cpu = {.count = batches, .sum = seen.samples * kMillisecond};
  return seen;
}

TEST(StageTimes, WorkerProcessesTakeTheTimeOfASampleOnceABatch) {
  StageTimes times;
  for (std::uint64_t batches = 0; batches < 3; ++batches) {
    Observation seen = in_processes(batches);
    times.take(seen, 8);
  }
  EXPECT_NEAR(times.cpu, 1e-3, 1e-9);
  EXPECT_NEAR(times.sleep, 20e-3, 1e-9);
  EXPECT_NEAR(times.train, 0.1 / 64, 1e-9);
  EXPECT_EQ(times.rows, 64);
}

TEST(StageTimes, WaitingForACoreIsNoSleep) {
  MachineReadings readings{};
  readings.tasks.processes_wait = {.value = 0.64, .time_ns = 1, .valid = true};
  StageTimes times;
  for (std::uint64_t batches = 0; batches < 3; ++batches) {
    Observation seen = in_processes(batches);
    seen.meters = observation_of(readings, seen.time_ns);
    times.take(seen, 8);
  }
  EXPECT_NEAR(times.sleep, 20e-3 - 0.64 * 0.5 / 64, 1e-9);
}

TEST(StageTimes, ThreadsTakeItOfEachSample) {
  StageTimes times;
  for (std::uint64_t batches = 0; batches < 3; ++batches) {
    Observation seen = after(batches);
    LaneObservation& decode = seen.lanes[lane_place(LaneRole::kDecode)];
    decode.valid = true;
    decode.service_wall = {.count = seen.samples, .sum = seen.samples * 3 * kMillisecond};
    decode.service_cpu = {.count = seen.samples, .sum = seen.samples * 2 * kMillisecond};
    times.take(seen, 8);
  }
  EXPECT_NEAR(times.cpu, 2e-3, 1e-9);
  EXPECT_NEAR(times.sleep, 1e-3, 1e-9);
}

}  // namespace
}  // namespace drapps
