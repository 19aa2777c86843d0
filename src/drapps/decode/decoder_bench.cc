// What a crop costs against the whole picture, and what the structural check costs.
#include <benchmark/benchmark.h>

#include <utility>

#include "drapps/decode/decoder.h"
#include "drapps/decode/testing.h"

namespace drapps {
namespace {

constexpr Extent kExtent{375, 500};

testing::Bytes file_of(int sampling) {
  return testing::encode_jpeg(kExtent, {.horizontal = sampling, .vertical = sampling, .quality = 90});
}

void inspect(benchmark::State& state) {
  Decoder decoder(MemoryLedger::unlimited());
  const testing::Bytes file = file_of(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(decoder.inspect(file, {}));
  state.SetBytesProcessed(static_cast<std::int64_t>(file.size()) * state.iterations());
}

/// range(1): percent of height and of width that the crop, in the middle, takes.
void decode(benchmark::State& state) {
  Decoder decoder(MemoryLedger::unlimited());
  ImageBuffer out(MemoryLedger::unlimited());
  const testing::Bytes file = file_of(static_cast<int>(state.range(0)));
  const ImageInfo info = decoder.inspect(file, {}).value();
  const auto part = [&](std::int32_t whole) { return static_cast<std::int32_t>(whole * state.range(1) / 100); };
  const std::int32_t height = part(kExtent.height), width = part(kExtent.width);
  const Rect region{(kExtent.height - height) / 2, (kExtent.width - width) / 2, height, width};
  for (auto _ : state) benchmark::DoNotOptimize(decoder.decode(file, info, region, {}, out));
}

BENCHMARK(inspect)->Arg(1)->Arg(2);
BENCHMARK(decode)->ArgsProduct({{1, 2}, {100, 70, 40}});

}  // namespace
}  // namespace drapps
