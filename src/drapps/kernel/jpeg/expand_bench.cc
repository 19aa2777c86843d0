// What comes before the pixels, for a picture of 500 x 375 at 4:4:4 with 102 KB: entropy-coded bytes without their
// stuffing, and the coefficient form's blocks and sums.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "drapps/data/buffer.h"
#include "drapps/kernel/jpeg/expand.h"
#include "drapps/kernel/jpeg/idct.h"
#include "drapps/kernel/jpeg/unstuff.h"

namespace drapps::kernel::jpeg {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::size_t kScan = 102'000, kScans = 16, kBlocks = std::size_t{3} * 63 * 47;

/// Like scans: any bytes, and a 0 after each 0xFF. As many as no processor remembers the branches of.
Bytes scans() {
  std::mt19937 random(1);
  Bytes bytes;
  while (bytes.size() <= kScan * kScans) {
    bytes.push_back(static_cast<std::uint8_t>(random()));
    if (bytes.back() == 0xFF) bytes.push_back(0);
  }
  return bytes;
}

struct alignas(64) Block {
  std::int16_t at[kBlock];
};

/// Like a photograph's: 14 numbers in a block, mostly of low frequencies, one block in 50 with a large one.
struct Form {
  Form() : masks(kMaskBytes * kBlocks), dc(kDcBytes * kBlocks + 64), values(kMaxValueBytes * kBlocks + 64) {
    std::mt19937 random(2);
    std::vector<Block> blocks(kBlocks);
    for (Block& block : blocks) {
      const unsigned busy = random() % 128;
      for (std::size_t i = 0; i < kBlock; ++i) {
        const auto frequency = static_cast<unsigned>(i / 8 + i % 8);
        const int number = static_cast<int>(random() % 31) - 15;
        block.at[i] = static_cast<std::int16_t>(random() % 128 < busy / (frequency / 2 + 1) ? number : 0);
      }
      if (random() % 50 == 0) block.at[1] = 200;
    }
    pack(masks.data(), dc.data(), values.data(), blocks[0].at, kBlocks);
  }
  Bytes masks, dc, values;
};

/// A row of blocks at a time, into the same memory, as a decoder does it.
void expand_rows(benchmark::State& state, Level level) {
  constexpr std::size_t kRow = 63;
  const Form form;
  std::vector<Block> row(kRow);
  for (auto _ : state) {
    const std::uint8_t* values = form.values.data();
    for (std::size_t i = 0; i < kBlocks; i += kRow) {
      values =
          expand(row[0].at, form.masks.data() + kMaskBytes * i, form.dc.data() + kDcBytes * i, values, kRow, level);
      benchmark::ClobberMemory();
    }
  }
}

const bool kRegistered = [] {
  for (const Level level : supported_levels()) {
    const auto add = [&](const std::string& what, auto run) {
      benchmark::RegisterBenchmark((what + "/" + std::string(name_of(level))).c_str(), run)
          ->Unit(benchmark::kMicrosecond);
    };
    add("unstuff", [level](benchmark::State& state) {
      const Bytes in = scans();
      Bytes out(kScan + kPadding);
      std::size_t turn = 0;
      for (auto _ : state) {
        benchmark::DoNotOptimize(unstuff(out.data(), in.data() + kScan * turn, kScan, level));
        turn = (turn + 1) % kScans;
      }
    });
    add("expand", [level](benchmark::State& state) { expand_rows(state, level); });
    add("lane_sum", [level](benchmark::State& state) {
      const Bytes bytes(2 * kScan);
      for (auto _ : state) benchmark::DoNotOptimize(lane_sum(bytes.data(), bytes.size() / kLane, level));
    });
  }
  return true;
}();

}  // namespace
}  // namespace drapps::kernel::jpeg
