// What it costs to know where the time goes, beside reading the clock.
#include <benchmark/benchmark.h>

#include "drapps/base/clock.h"
#include "drapps/base/histogram.h"
#include "drapps/exec/worker_time.h"

namespace drapps {
namespace {

void read_clock(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(monotonic_ns());
}

/// A change of part: the clock, and the counters.
void enter(benchmark::State& state) {
  WorkerClock clock;
  WorkerClock::Part part = WorkerClock::kOther;
  for (auto _ : state) benchmark::DoNotOptimize(clock.enter(part = WorkerClock::kOther - (part & 1)));
}

void read_both_clocks(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(thread_cpu_ns());
    benchmark::DoNotOptimize(monotonic_ns());
    benchmark::DoNotOptimize(thread_cpu_ns());
    benchmark::DoNotOptimize(monotonic_ns());
  }
}

/// What a lane adds for each sample, but for the CPU clock, which is read once in 4 ms of such pieces.
void time_lane(benchmark::State& state) {
  const WorkerClock clock;
  for (auto _ : state) {
    LaneTimer timer(0);
    benchmark::DoNotOptimize(timer.end());
  }
}

void record(benchmark::State& state) {
  static Histogram histogram;
  std::uint64_t value = 1;
  for (auto _ : state) histogram.record(value = (value * 5 + 1) & 0xFFFFF);
}

/// All that a reader has to do for one worker, but for its CPU clock.
void read_times(benchmark::State& state) {
  const WorkerClock clock;
  const SleepReasons reasons;
  for (auto _ : state) benchmark::DoNotOptimize(clock.read(reasons, 0));
}

BENCHMARK(read_clock);
BENCHMARK(enter);
BENCHMARK(read_both_clocks);
BENCHMARK(time_lane);
BENCHMARK(record);
BENCHMARK(record)->Threads(2);
BENCHMARK(read_times);

}  // namespace
}  // namespace drapps
