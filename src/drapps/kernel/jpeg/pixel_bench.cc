// The pixel half of decoding, over a picture of 500 x 375: 3 x 63 x 47 blocks where chroma is not subsampled.
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "drapps/kernel/jpeg/idct.h"
#include "drapps/kernel/jpeg/upsample.h"
#include "drapps/kernel/jpeg/ycc.h"

namespace drapps::kernel::jpeg {
namespace {

constexpr std::size_t kWidth = 500, kHeight = 375;
constexpr std::size_t kAcross = 63, kDown = 47;  // blocks

/// One row of blocks again and again, as a decoder reuses its buffer: what is measured stays in the nearer caches.
struct BlockRow {
  BlockRow() : pixels(8 * 8 * kAcross) {
    std::uint32_t random = 1;
    for (std::size_t i = 0; i < kBlock * kAcross; ++i) {
      random = random * 1664525U + 1013904223U;
      const auto level = static_cast<std::int16_t>(random >> 24);
      coefficients[i] = static_cast<std::int16_t>(level % (i % kBlock < 16 ? 33 : 3));
    }
    for (std::size_t i = 0; i < kBlock; ++i) quant[i] = static_cast<std::int16_t>(3 + i / 4);
  }
  alignas(64) std::int16_t coefficients[kBlock * kAcross];
  alignas(64) std::int16_t quant[kBlock];
  std::vector<std::uint8_t> pixels;
};

void transform(benchmark::State& state, Level level) {
  BlockRow row;
  for (auto _ : state) {
    for (std::size_t i = 0; i < 3 * kDown; ++i) {
      inverse_dct(row.pixels.data(), 8 * kAcross, row.coefficients, kAcross, row.quant, level);
      benchmark::ClobberMemory();
    }
  }
}

/// `row(out, in)` for each row of a picture, with six rows of 1,024 bytes to read and to write.
template <class Row>
void by_rows(benchmark::State& state, Row row) {
  std::vector<std::uint8_t> in(8192), out(8192);
  for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::uint8_t>((i * 2654435761U) >> 24);
  for (auto _ : state) {
    for (std::size_t y = 0; y < kHeight; ++y) {
      row(out.data(), in.data() + 64);
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
    add("inverse_dct", [level](benchmark::State& state) { transform(state, level); });
    add("ycc_to_rgb", [level](benchmark::State& state) {
      by_rows(state, [level](std::uint8_t* out, const std::uint8_t* in) {
        ycc_to_rgb(out, out + 1024, out + 2048, in, in + 1024, in + 2048, kWidth, level);
      });
    });
    // Two planes of chroma.
    add("upsample_across", [level](benchmark::State& state) {
      by_rows(state, [level](std::uint8_t* out, const std::uint8_t* in) {
        for (int plane = 0; plane < 2; ++plane) upsample_across(out + 1024 * plane, in, kWidth / 2, level);
      });
    });
    add("upsample_down", [level](benchmark::State& state) {
      by_rows(state, [level](std::uint8_t* out, const std::uint8_t* in) {
        for (int plane = 0; plane < 2; ++plane) upsample_down(out + 1024 * plane, in, in + 1024, kWidth, true, level);
      });
    });
    add("upsample_both", [level](benchmark::State& state) {
      by_rows(state, [level](std::uint8_t* out, const std::uint8_t* in) {
        for (int plane = 0; plane < 2; ++plane) {
          upsample_both(out + 1024 * plane, in, in + 1024, kWidth / 2, level);
        }
      });
    });
  }
  return true;
}();

}  // namespace
}  // namespace drapps::kernel::jpeg
