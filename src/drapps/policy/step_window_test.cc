#include "drapps/policy/step_window.h"

#include <gtest/gtest.h>

namespace drapps {
namespace {

constexpr double kNsPerMs = 1e6;

/// A plant's observation, and the histogram that it is made from.
struct Seen : Observation {
  void show(StepWindow& window) {
    consumer.step = spread(steps, steps_before);
    window.add(*this);
  }
  HistogramCounts steps, steps_before;
};

/// Records `steps` steps of `ms`, `stall_ms` of each waited, and lets that time pass.
void run(Seen& seen, int steps, double ms, double stall_ms = 0) {
  for (int i = 0; i < steps; ++i) {
    const auto ns = static_cast<std::uint64_t>(ms * kNsPerMs);
    seen.steps.record(ns);
    seen.consumer.stall.sum += static_cast<std::uint64_t>(stall_ms * kNsPerMs);
    seen.time_ns += ns;
  }
}

TEST(StepWindow, MeasuresStepStallAndStretch) {
  Seen seen;
  StepWindow window;
  auto& decode = seen.lanes[lane_place(LaneRole::kDecode)];
  auto& fetch = seen.lanes[lane_place(LaneRole::kFetch)];
  decode.valid = fetch.valid = true;
  seen.show(window);
  for (int i = 0; i < 6; ++i) {
    ASSERT_FALSE(window.complete());
    run(seen, 5, i % 2 == 0 ? 99 : 101, 25);
    decode.service_wall.sum += 300;
    decode.service_cpu.sum += 200;
    fetch.service_wall.sum += 1'000'000;
    seen.show(window);
  }
  run(seen, 1, 100, 25);
  seen.show(window);
  ASSERT_TRUE(window.complete());
  const StepMeasure measure = window.measure();
  EXPECT_NEAR(measure.step_ns, 100 * kNsPerMs, 0.01 * kNsPerMs);
  EXPECT_NEAR(measure.stall, 0.25, 0.001);
  EXPECT_NEAR(measure.stretch, 1.5, 1e-9);
  EXPECT_GT(measure.error, 0);
  EXPECT_LT(measure.error, 0.01);
}

TEST(StepWindow, AnotherBatchIsNoOtherSpeed) {
  Seen seen;
  StepWindow window;
  seen.show(window);
  std::uint64_t batch = 8;
  for (int i = 0; !window.complete(); ++i) {
    ASSERT_LT(i, 100);
    const auto steps = static_cast<int>(64 / batch);
    run(seen, steps, 10 * static_cast<double>(batch));
    seen.consumer.samples += static_cast<std::uint64_t>(steps) * batch;
    seen.show(window);
    batch = i % 2 == 0 ? 16 : 8;
  }
  const StepMeasure measure = window.measure();
  EXPECT_NEAR(measure.sample_ns, 10 * kNsPerMs, 0.01 * kNsPerMs);
  EXPECT_LT(measure.error, 1e-6);
  EXPECT_GT(measure.step_ns, 80 * kNsPerMs);
}

TEST(StepWindow, WithoutSamplesItIsTheStepThatCounts) {
  Seen seen;
  StepWindow window;
  for (int i = 0; i < 3; ++i) {
    seen.show(window);
    run(seen, 5, 100);
  }
  EXPECT_EQ(window.measure().sample_ns, window.measure().step_ns);
  EXPECT_GT(window.measure().step_ns, 0);
}

TEST(StepWindow, GrowsWhileTheErrorIsWideButNotForever) {
  Seen seen;
  StepWindow window;
  seen.show(window);
  int blocks = 0;
  for (; !window.complete(); ++blocks) {
    run(seen, 10, blocks % 2 == 0 ? 30 : 70);
    seen.show(window);
    if (blocks >= 8) {
      EXPECT_TRUE(window.long_enough());
    }
  }
  EXPECT_GE(seen.time_ns, 9'000 * kNsPerMs);
  EXPECT_LT(seen.time_ns, 10'000 * kNsPerMs);
}

TEST(StepWindow, LeavesPausesOut) {
  Seen seen;
  StepWindow window;
  run(seen, 100, 50);
  seen.show(window);
  for (int i = 0; i < 12; ++i) {
    run(seen, 10, 50);
    if (i == 5) run(seen, 1, 20'000);
    seen.show(window);
  }
  EXPECT_NEAR(window.measure().step_ns, 50 * kNsPerMs, 0.1 * kNsPerMs);
}

TEST(StepWindow, ThirdPauseInARowIsTheNewNormal) {
  Seen seen;
  StepWindow window;
  run(seen, 1000, 50);
  seen.show(window);
  for (int i = 0; i < 6; ++i) {
    run(seen, 4, 2'000);
    seen.show(window);
  }
  EXPECT_NEAR(window.measure().step_ns, 2'000 * kNsPerMs, 1 * kNsPerMs);
  EXPECT_EQ(window.blocks(), 4u);
}

TEST(StepWindow, SlowStepsAreNoPause) {
  Seen seen;
  StepWindow window;
  run(seen, 10, 3'000);
  seen.show(window);
  run(seen, 4, 3'100);
  seen.show(window);
  EXPECT_EQ(window.blocks(), 1u);
}

TEST(StepWindow, MeasuresNothingBetweenPasses) {
  Seen seen;
  StepWindow window;
  seen.show(window);
  for (int pass = 0; pass < 4; ++pass) {
    run(seen, 10, 50);
    seen.show(window);
    seen.time_ns += 30'000 * static_cast<std::uint64_t>(kNsPerMs);  // a validation
  }
  EXPECT_EQ(window.blocks(), 4u);
  EXPECT_FALSE(window.long_enough());
  for (int pass = 0; pass < 2; ++pass) {
    run(seen, 10, 50);
    seen.show(window);
  }
  EXPECT_TRUE(window.complete());
  EXPECT_NEAR(window.measure().step_ns, 50 * kNsPerMs, 1);
}

TEST(StepWindow, ABlockHoldsAQuarterOfASecondOfSteps) {
  Seen seen;
  StepWindow window;
  seen.show(window);
  for (int pass = 0; pass < 10; ++pass) {
    run(seen, 4, pass % 2 == 0 ? 20 : 40);
    seen.time_ns += 500 * static_cast<std::uint64_t>(kNsPerMs);
    seen.show(window);
  }
  EXPECT_EQ(window.blocks(), 3u);
}

TEST(StepWindow, LeavesTheStartOfAPassOut) {
  Seen seen;
  StepWindow window;
  seen.show(window);
  for (int pass = 0; pass < 4; ++pass) {
    ++seen.consumer.passes;
    run(seen, 1, 900, 850);
    for (int block = 0; block < 3; ++block) {
      run(seen, 10, 50);
      seen.show(window);
    }
  }
  EXPECT_EQ(window.blocks(), 8u);
  EXPECT_NEAR(window.measure().step_ns, 50 * kNsPerMs, 1);
  EXPECT_EQ(window.measure().stall, 0);
}

TEST(StepWindow, ShortPassesAreNothingButTheirStarts) {
  Seen seen;
  StepWindow window;
  seen.show(window);
  for (int block = 0; block < 10; ++block) {
    seen.consumer.passes += 2;
    run(seen, 2, 100, 100);
    run(seen, 8, 50);
    seen.show(window);
  }
  EXPECT_EQ(window.blocks(), 8u);
  EXPECT_NEAR(window.measure().step_ns, 60 * kNsPerMs, 1);
  EXPECT_NEAR(window.measure().stall, 1.0 / 3, 0.001);
}

TEST(StepWindow, GoesOnWithANewPlant) {
  StepWindow window;
  std::uint64_t time = 0;
  for (int epoch = 0; epoch < 3; ++epoch) {
    Seen seen;
    seen.time_ns = time;
    run(seen, 1, 900);  // starting up is not part of the measurement
    run(seen, 10, 50);
    seen.show(window);
    for (int block = 0; block < 2; ++block) {
      EXPECT_FALSE(window.complete());
      run(seen, 10, 50);
      seen.show(window);
    }
    time = seen.time_ns;
  }
  EXPECT_TRUE(window.complete());
  EXPECT_EQ(window.blocks(), 6u);
  EXPECT_NEAR(window.measure().step_ns, 50 * kNsPerMs, 1);
}

}  // namespace
}  // namespace drapps
