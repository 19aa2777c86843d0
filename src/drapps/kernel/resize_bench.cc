// A random crop's resize to 224 x 224, three planes, per level; and its plan alone.
#include <benchmark/benchmark.h>

#include <cstring>

#include "drapps/kernel/resize.h"

namespace drapps::kernel {
namespace {

void resize_crop(benchmark::State& state, Level level, PassOrder order, Filter filter,
                 Arithmetic arithmetic = Arithmetic::kPillow) {
  ImageBuffer source(MemoryLedger::unlimited());
  ImageBuffer target(MemoryLedger::unlimited());
  const ImageView whole = source.reshape(3, 375, 500).value();
  const ImageView out = target.reshape(3, 224, 224).value();
  std::memset(whole.data, 77, static_cast<std::size_t>(3 * whole.plane_stride));
  Resizer resizer(MemoryLedger::unlimited(), level);
  // Every crop has another size, so that every resize makes its plans.
  std::int32_t turn = 0;
  for (auto _ : state) {
    turn = (turn + 1) % 16;
    const Rect crop{.top = turn, .left = 3 * turn, .height = 258 - turn, .width = 292 + turn};
    benchmark::DoNotOptimize(resizer.resize(out, whole.crop(crop), filter, order, arithmetic).ok());
  }
}

void plan(benchmark::State& state, Level level, Arithmetic arithmetic) {
  PackedAxis axis(MemoryLedger::unlimited());
  PackedAxis other(MemoryLedger::unlimited());
  std::int32_t turn = 0;
  for (auto _ : state) {
    turn = (turn + 1) % 16;
    benchmark::DoNotOptimize(
        axis.make(292 + turn, 224, Filter::kBilinear, arithmetic, ResizePass::kHorizontal, level).ok());
    benchmark::DoNotOptimize(
        other.make(258 - turn, 224, Filter::kBilinear, arithmetic, ResizePass::kVertical, level).ok());
  }
}

void nearest(benchmark::State& state) {
  ImageBuffer source(MemoryLedger::unlimited());
  ImageBuffer target(MemoryLedger::unlimited());
  const ImageView in = source.reshape(1, 250, 300).value();
  const ImageView out = target.reshape(1, 224, 224).value();
  std::memset(in.data, 7, static_cast<std::size_t>(in.plane_stride));
  for (auto _ : state) {
    resize_nearest(out, in);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(nearest)->Unit(benchmark::kMicrosecond);

const bool kRegistered = [] {
  for (const Level level : supported_levels()) {
    const std::string name(name_of(level));
    const auto add = [&](const std::string& what, auto run) {
      benchmark::RegisterBenchmark((what + "/" + name).c_str(), run)->Unit(benchmark::kMicrosecond);
    };
    add("resize_bilinear",
        [level](benchmark::State& s) { resize_crop(s, level, PassOrder::kHorizontalFirst, Filter::kBilinear); });
    add("resize_bilinear_pillow13",
        [level](benchmark::State& s) { resize_crop(s, level, PassOrder::kPillow13, Filter::kBilinear); });
    add("resize_bicubic",
        [level](benchmark::State& s) { resize_crop(s, level, PassOrder::kHorizontalFirst, Filter::kBicubic); });
    add("resize_bilinear_torch", [level](benchmark::State& s) {
      resize_crop(s, level, PassOrder::kHorizontalFirst, Filter::kBilinear, Arithmetic::kTorch);
    });
    add("plan", [level](benchmark::State& s) { plan(s, level, Arithmetic::kPillow); });
    add("plan_torch", [level](benchmark::State& s) { plan(s, level, Arithmetic::kTorch); });
  }
  return true;
}();

}  // namespace
}  // namespace drapps::kernel
