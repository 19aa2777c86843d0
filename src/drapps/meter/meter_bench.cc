// What one read of each meter costs, on the machine it runs on. Each iteration is one read; two a second are usual.
#include <benchmark/benchmark.h>

#include <array>
#include <cstdint>
#include <string>

#include "drapps/base/clock.h"
#include "drapps/meter/machine_readings.h"

namespace drapps {
namespace {

template <class Meter>
void read_meter(benchmark::State& state) {
  Meter meter;
  for (auto _ : state) benchmark::DoNotOptimize(meter.read(monotonic_ns()));
}

/// As many looks at the threads as reads of the others: the meter itself makes them more seldom.
void read_tasks(benchmark::State& state) {
  TaskMeter meter;
  const std::array<std::int32_t, 0> none{};
  std::uint64_t now_ns = 0;
  for (auto _ : state) benchmark::DoNotOptimize(meter.read(now_ns += 1'000'000'000, none));
}

void read_disks_of_data(benchmark::State& state) {
  DiskMeter meter;
  const std::array<std::string, 1> paths{"/"};
  meter.set_data(paths);
  for (auto _ : state) benchmark::DoNotOptimize(meter.read(monotonic_ns()));
}

/// The driver's answers where there is a GPU.
void read_gpus(benchmark::State& state) {
  GpuMeter meter;
  for (auto _ : state) benchmark::DoNotOptimize(meter.read(monotonic_ns()));
}

BENCHMARK(read_meter<CpuMeter>)->Name("cpu");
BENCHMARK(read_tasks)->Name("tasks");
BENCHMARK(read_meter<CgroupMeter>)->Name("cgroup");
BENCHMARK(read_meter<PressureMeter>)->Name("pressure");
BENCHMARK(read_meter<MemoryMeter>)->Name("memory");
BENCHMARK(read_disks_of_data)->Name("disk");
BENCHMARK(read_meter<NetworkMeter>)->Name("network");
BENCHMARK(read_meter<EnergyMeter>)->Name("energy");
BENCHMARK(read_gpus)->Name("gpu");

}  // namespace
}  // namespace drapps
