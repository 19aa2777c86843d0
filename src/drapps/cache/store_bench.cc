#include <benchmark/benchmark.h>

#include <cstring>

#include "drapps/base/clock.h"
#include "drapps/cache/store.h"
#include "drapps/storage/file_identity.h"

namespace drapps::cache {
namespace {

constexpr std::uint64_t kRecords = 100'000;
constexpr std::size_t kBytes = 1000;
constexpr std::size_t kBudget = std::size_t{1} << 30;

RecordIdentity numbered(std::uint64_t number) { return {mixed(number + 1), mixed(number ^ 0x9E3779B97F4A7C15u)}; }

/// A store that has every record.
Store& full_store() {
  static MemoryLedger ledger;
  static Store store(ledger);
  static const bool filled = [] {
    store.join(kRecords, kBudget);
    for (std::uint64_t i = 0; i < kRecords; ++i) {
      store.offer({numbered(i), 1}, FormId::kBytes, kBytes, 1,
                  [](std::span<std::uint8_t> entry) { std::memset(entry.data(), 1, entry.size()); });
    }
    return !store.empty();
  }();
  benchmark::DoNotOptimize(filled);
  return store;
}

/// CPU time of one thread.
template <class Work>
void measure(benchmark::State& state, const Work& work) {
  Store& store = full_store();
  std::uint64_t number = static_cast<std::uint64_t>(state.thread_index()) * 7919;
  const std::uint64_t begun = thread_cpu_ns();
  for (auto each : state) {
    number = (number + 104'729) % kRecords;
    work(store, number);
  }
  state.counters["cpu_ns"] =
      benchmark::Counter(static_cast<double>(thread_cpu_ns() - begun) / static_cast<double>(state.iterations()),
                         benchmark::Counter::kAvgThreads);
}

void get_hit(benchmark::State& state) {
  measure(state, [](Store& store, std::uint64_t number) {
    benchmark::DoNotOptimize(store.get({numbered(number), 1}).bytes().data());
  });
}

void get_miss(benchmark::State& state) {
  measure(state, [](Store& store, std::uint64_t number) {
    benchmark::DoNotOptimize(store.get({numbered(number + kRecords), 1}).bytes().data());
  });
}

BENCHMARK(get_hit)->Threads(1)->Threads(16);
BENCHMARK(get_miss)->Threads(1)->Threads(16);

}  // namespace
}  // namespace drapps::cache
