// What the host has left to do for a picture that a device decodes, and what the CPU's decoder takes for the same crop
// by the same index. range(0): sampling of chroma in both directions; range(1): percent of height and of width that the
// crop, in the middle, takes; 73 is the mean of random resized crops.
#include <benchmark/benchmark.h>

#include <vector>

#include "drapps/decode/jpeg/coefficients.h"
#include "drapps/decode/jpeg/reader.h"
#include "drapps/decode/jpeg/reader_testing.h"
#include "drapps/decode/testing.h"
#include "drapps/device/jpeg_list.h"

namespace drapps::device {
namespace {

constexpr Extent kExtent{375, 500};

/// A picture of which all is known.
struct Known {
  explicit Known(const benchmark::State& state)
      : file(testing::encode_jpeg(kExtent, {.horizontal = static_cast<int>(state.range(0)),
                                            .vertical = static_cast<int>(state.range(0)),
                                            .quality = 92})),
        info(jpeg::inspect(file, {}).value()) {
    const auto part = [&](std::int32_t whole) { return static_cast<std::int32_t>(whole * state.range(1) / 100); };
    crop = {(kExtent.height - part(kExtent.height)) / 2, (kExtent.width - part(kExtent.width)) / 2,
            part(kExtent.height), part(kExtent.width)};
    decode({0, 0, kExtent.height, kExtent.width});
  }

  bool decode(const Rect& region) {
    const ImageView view = out.reshape(3, region.height, region.width).value();
    return reader.read(file, info, region, view, &use).ok();
  }

  testing::Bytes file;
  ImageInfo info;
  Rect crop;
  jpeg::testing::OneIndex index{true};
  const jpeg::IndexUse use{&index, {}, nullptr};
  jpeg::JpegReader reader{MemoryLedger::unlimited()};
  ImageBuffer out{MemoryLedger::unlimited()};
};

/// One picture again and again, the lists put behind it as they are before a launch.
void add(benchmark::State& state, std::span<const std::uint8_t> file, const ImageInfo& info, const Known& known) {
  constexpr JpegBounds kBounds{.input = 4 << 20, .work = 64 << 20};
  JpegList list(MemoryLedger::unlimited(), 3, kBounds);
  Buffer memory(MemoryLedger::unlimited());
  if (!memory.ensure(kBounds.input).ok()) return state.SkipWithError("no memory");
  auto* const bytes = reinterpret_cast<std::byte*>(memory.data());
  JpegList::JpegWork work;
  for (auto _ : state) {
    list.clear();
    if (list.add(bytes, file, info, known.crop, known.use).value() != JpegTaken::kTaken) {
      return state.SkipWithError("it is not for a device");
    }
    work = list.put(bytes, bytes, bytes);
  }
  state.counters["file_bytes"] = static_cast<double>(file.size());
  state.counters["copied_bytes"] = static_cast<double>(work.input);
}

void add_scan(benchmark::State& state) {
  const Known known(state);
  add(state, known.file, known.info, known);
}

void add_coefficients(benchmark::State& state) {
  const Known known(state);
  testing::Bytes form;
  if (!jpeg::Transcoder(MemoryLedger::unlimited()).transcode(known.file, form).ok()) form.clear();
  add(state, form, jpeg::inspect_coefficients(form, {}).value(), known);
}

void decode_on_cpu(benchmark::State& state) {
  Known known(state);
  for (auto _ : state) benchmark::DoNotOptimize(known.decode(known.crop));
}

BENCHMARK(add_scan)->ArgsProduct({{1, 2}, {100, 73}})->Unit(benchmark::kMicrosecond);
BENCHMARK(add_coefficients)->ArgsProduct({{1, 2}, {100, 73}})->Unit(benchmark::kMicrosecond);
BENCHMARK(decode_on_cpu)->ArgsProduct({{1, 2}, {100, 73}})->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace drapps::device
