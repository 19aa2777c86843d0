#include <benchmark/benchmark.h>

#include "drapps/source/permutation.h"

namespace drapps {
namespace {

// Each position depends on the last result, so this is latency: what one row of a batch pays.
void BM_PermutationAt(benchmark::State& state) {
  const auto size = static_cast<std::uint64_t>(state.range(0));
  const Permutation order(size, 1, 2);
  std::uint64_t position = 0;
  for (auto _ : state) position = order.at(position);
  benchmark::DoNotOptimize(position);
}
BENCHMARK(BM_PermutationAt)->Arg(1'000)->Arg(1'000'000)->Arg(1'000'000'000)->Arg(std::int64_t{1} << 40);

void BM_PermutationMake(benchmark::State& state) {
  std::uint32_t epoch = 0;
  for (auto _ : state) {
    const Permutation order(1'000'000, 1, epoch++);
    benchmark::DoNotOptimize(&order);
  }
}
BENCHMARK(BM_PermutationMake);

}  // namespace
}  // namespace drapps
