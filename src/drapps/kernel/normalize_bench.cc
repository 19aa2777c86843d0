// One picture of 224 x 224 into its row of a batch, and the byte movers and colour adjustments on it.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "drapps/kernel/color.h"
#include "drapps/kernel/normalize.h"
#include "drapps/kernel/planes.h"

namespace drapps::kernel {
namespace {

constexpr std::int32_t kSide = 224;

struct Picture {
  Picture() : buffer(MemoryLedger::unlimited()), view(buffer.reshape(3, kSide, kSide).value()) {
    for (std::int32_t c = 0; c < 3; ++c) {
      for (std::int32_t i = 0; i < kSide * kSide; ++i) {
        view.row(c, i / kSide)[i % kSide] = static_cast<std::uint8_t>((i * (c + 3) * 2654435761U) >> 24);
      }
    }
  }
  ImageBuffer buffer;
  ImageView view;
};

void store(benchmark::State& state, Level level, RowFormat format, bool mirror) {
  const Picture picture;
  const Normalizer normalizer =
      format.dtype == Dtype::kUint8
          ? Normalizer::raw()
          : Normalizer::standard(std::vector{0.485F, 0.456F, 0.406F}, std::vector{0.229F, 0.224F, 0.225F}).value();
  // A batch of 64 rows, so that the destination is memory and not cache.
  const std::size_t row = row_size(format, 3, kSide, kSide);
  Buffer batch(MemoryLedger::unlimited());
  if (!batch.ensure(64 * row).ok()) return state.SkipWithError("no memory");
  std::size_t turn = 0;
  for (auto _ : state) {
    normalizer.store(batch.data() + (turn++ % 64) * row, picture.view, format, mirror, level);
    benchmark::ClobberMemory();
  }
}

template <class Run>
void per_picture(benchmark::State& state, Run run) {
  const Picture in;
  const Picture out;
  for (auto _ : state) {
    run(out.view, in.view);
    benchmark::ClobberMemory();
  }
}

const bool kRegistered = [] {
  for (const Level level : supported_levels()) {
    const auto add = [&](const std::string& what, auto run) {
      benchmark::RegisterBenchmark((what + "/" + std::string(name_of(level))).c_str(), run)
          ->Unit(benchmark::kMicrosecond);
    };
    for (const Dtype dtype : {Dtype::kFloat32, Dtype::kBfloat16, Dtype::kFloat16, Dtype::kUint8}) {
      for (const Layout layout : {Layout::kNchw, Layout::kNhwc}) {
        for (const bool mirror : {false, true}) {
          const std::string name = "store_" + std::string(name_of(dtype)) +
                                   (layout == Layout::kNchw ? "_nchw" : "_nhwc") + (mirror ? "_mirrored" : "");
          add(name, [=](benchmark::State& s) { store(s, level, {dtype, layout}, mirror); });
        }
      }
    }
    const auto add_picture = [&](const std::string& what, auto run) {
      add(what, [=](benchmark::State& s) { per_picture(s, run); });
    };
    add_picture("brightness", [=](ImageView o, ImageView i) { adjust_brightness(o, i, 1.3F, level); });
    add_picture("contrast", [=](ImageView o, ImageView i) { adjust_contrast(o, i, 1.3F, level); });
    add_picture("saturation", [=](ImageView o, ImageView i) { adjust_saturation(o, i, 1.3F, level); });
    add_picture("hue", [=](ImageView o, ImageView i) { adjust_hue(o, i, 0.1, level); });
    add_picture("grayscale", [=](ImageView o, ImageView i) { grayscale(o, i, level); });
    add_picture("flip", [=](ImageView o, ImageView i) { flip_horizontal(o, i, level); });
    add("deinterleave3", [=](benchmark::State& s) {
      const Picture planes;
      const std::vector<std::uint8_t> pixels(3 * kSide * kSide, 5);
      for (auto _ : s) {
        for (std::int32_t y = 0; y < kSide; ++y) {
          deinterleave3(planes.view.row(0, y), planes.view.row(1, y), planes.view.row(2, y),
                        pixels.data() + std::ptrdiff_t{3} * y * kSide, kSide, level);
        }
        benchmark::ClobberMemory();
      }
    });
  }
  return true;
}();

}  // namespace
}  // namespace drapps::kernel
