// What the coefficient form costs to make, to check and to read, at every level. range(1): percent of height and of
// width that the crop, in the middle, takes; 73 is the mean of random resized crops.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/testing.h"

namespace drapps::jpeg {
namespace {

constexpr Extent kExtent{375, 500};

testing::Bytes jpeg_of(int sampling) {
  return testing::encode_jpeg(kExtent, {.horizontal = sampling, .vertical = sampling, .quality = 92});
}

testing::Bytes form_of(int sampling) {
  testing::Bytes form;
  if (!Transcoder(MemoryLedger::unlimited()).transcode(jpeg_of(sampling), form).ok()) form.clear();
  return form;
}

void transcode(benchmark::State& state, kernel::Level level) {
  Transcoder transcoder(MemoryLedger::unlimited(), level);
  const testing::Bytes jpeg = jpeg_of(static_cast<int>(state.range(0)));
  testing::Bytes form;
  for (auto _ : state) benchmark::DoNotOptimize(transcoder.transcode(jpeg, form).ok());
  state.counters["ratio"] = static_cast<double>(form.size()) / static_cast<double>(jpeg.size());
}

void check(benchmark::State& state, kernel::Level level) {
  CoefficientReader reader(MemoryLedger::unlimited(), level);
  const testing::Bytes form = form_of(static_cast<int>(state.range(0)));
  const CoefficientHead head = read_coefficient_head(form).value();
  for (auto _ : state) benchmark::DoNotOptimize(reader.begin(form, head).ok());
  state.SetBytesProcessed(static_cast<std::int64_t>(form.size()) * state.iterations());
}

void decode(benchmark::State& state, kernel::Level level) {
  CoefficientDecoder decoder(MemoryLedger::unlimited(), level);
  ImageBuffer out(MemoryLedger::unlimited());
  const testing::Bytes form = form_of(static_cast<int>(state.range(0)));
  const ImageInfo info = inspect_coefficients(form, {}).value();
  const auto part = [&](std::int32_t whole) { return static_cast<std::int32_t>(whole * state.range(1) / 100); };
  const std::int32_t height = part(kExtent.height), width = part(kExtent.width);
  const Rect region{(kExtent.height - height) / 2, (kExtent.width - width) / 2, height, width};
  const ImageView view = out.reshape(3, height, width).value();
  for (auto _ : state) benchmark::DoNotOptimize(decoder.read(form, info, region, view).ok());
}

const bool kRegistered = [] {
  for (const kernel::Level level : kernel::supported_levels()) {
    const auto add = [&](const std::string& what, auto run) {
      return benchmark::RegisterBenchmark((what + "/" + std::string(name_of(level))).c_str(),
                                          [run, level](benchmark::State& state) { run(state, level); })
          ->Unit(benchmark::kMicrosecond);
    };
    add("transcode", transcode)->Arg(1)->Arg(2);
    add("check", check)->Arg(1)->Arg(2);
    add("decode", decode)->ArgsProduct({{1, 2}, {100, 73, 40}});
  }
  return true;
}();

}  // namespace
}  // namespace drapps::jpeg
