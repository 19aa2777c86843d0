#include <benchmark/benchmark.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>

#include "drapps/base/clock.h"
#include "drapps/shm/item_cache.h"

namespace drapps {
namespace {

constexpr std::uint64_t kItems = 100'000;
constexpr std::uint64_t kBytes = 1000;
constexpr std::uint64_t kStride = 104'729;
constexpr int kProcesses = 4;
constexpr std::uint64_t kGetsEach = 1'000'000;

/// A cache that has every other item.
ItemCache& half_full_cache() {
  static const auto cache = [] {
    auto items = *ItemCache::make(kItems, kItems * 1024);
    for (std::uint64_t i = 0; i < kItems; i += 2) {
      items->claim(i);
      const auto room = items->begin(i, kBytes);
      std::memset((*room)->data(), 1, kBytes);
      if (!items->publish(i).ok()) std::abort();
    }
    return items;
  }();
  return *cache;
}

void get(benchmark::State& state, std::uint64_t parity) {
  ItemCache& cache = half_full_cache();
  std::uint64_t number = static_cast<std::uint64_t>(state.thread_index()) * 7918;
  const std::uint64_t begun = thread_cpu_ns();
  for (auto each : state) {
    number = (number + 2 * kStride) % kItems;
    benchmark::DoNotOptimize(cache.get(number + parity));
  }
  state.counters["cpu_ns"] =
      benchmark::Counter(static_cast<double>(thread_cpu_ns() - begun) / static_cast<double>(state.iterations()),
                         benchmark::Counter::kAvgThreads);
}

void get_hit(benchmark::State& state) { get(state, 0); }
void get_miss(benchmark::State& state) { get(state, 1); }

/// Hits in processes that all read at once: the CPU time of one, in the mean.
void get_hit_in_processes(benchmark::State& state) {
  ItemCache& cache = half_full_cache();
  std::uint64_t cpu_ns = 0;
  for (auto each : state) {
    std::array<int, 2> pipe_ends{};
    if (pipe(pipe_ends.data()) != 0) std::abort();
    for (int process = 0; process < kProcesses; ++process) {
      if (fork() != 0) continue;
      std::uint64_t number = static_cast<std::uint64_t>(process) * 7918;
      const std::uint64_t begun = thread_cpu_ns();
      for (std::uint64_t i = 0; i < kGetsEach; ++i) {
        number = (number + 2 * kStride) % kItems;
        benchmark::DoNotOptimize(cache.get(number));
      }
      const std::uint64_t spent = thread_cpu_ns() - begun;
      _exit(write(pipe_ends[1], &spent, sizeof(spent)) == sizeof(spent) ? 0 : 1);
    }
    for (int process = 0; process < kProcesses; ++process) {
      std::uint64_t spent = 0;
      if (read(pipe_ends[0], &spent, sizeof(spent)) != sizeof(spent)) std::abort();
      cpu_ns += spent;
      wait(nullptr);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
  }
  state.counters["cpu_ns"] =
      static_cast<double>(cpu_ns) / static_cast<double>(state.iterations() * kProcesses * kGetsEach);
}

BENCHMARK(get_hit)->Threads(1)->Threads(16);
BENCHMARK(get_miss)->Threads(1)->Threads(16);
BENCHMARK(get_hit_in_processes)->Iterations(3)->UseRealTime();

}  // namespace
}  // namespace drapps
