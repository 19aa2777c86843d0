#include <array>
#include <cstddef>

#include "drapps/kernel/normalize.h"

namespace drapps::kernel {
namespace {

// A period of interleaved pixels that fills vectors of any width.
constexpr std::size_t kPeriod = 16;

template <std::size_t kChannels>
void interleaved(float* out, const float* in, std::size_t pixels, std::span<const float> mean,
                 std::span<const float> std) noexcept {
  constexpr std::size_t kRun = kPeriod * kChannels;
  std::array<float, kRun> means, stds;
  for (std::size_t i = 0; i < kRun; ++i) {
    means[i] = mean[i % kChannels];
    stds[i] = std[i % kChannels];
  }
  const std::size_t all = pixels * kChannels, whole = all / kRun * kRun;
  for (std::size_t at = 0; at < whole; at += kRun) {
    for (std::size_t i = 0; i < kRun; ++i) out[at + i] = (in[at + i] - means[i]) / stds[i];
  }
  for (std::size_t at = whole; at < all; ++at) out[at] = (in[at] - means[at - whole]) / stds[at - whole];
}

}  // namespace

void normalize_floats(float* out, const float* in, std::size_t pixels, Layout layout, std::span<const float> mean,
                      std::span<const float> std) noexcept {
  if (layout == Layout::kNchw) {
    for (std::size_t c = 0; c < mean.size(); ++c, in += pixels, out += pixels) {
      const float m = mean[c], s = std[c];
      for (std::size_t i = 0; i < pixels; ++i) out[i] = (in[i] - m) / s;
    }
    return;
  }
  switch (mean.size()) {
    case 1: return interleaved<1>(out, in, pixels, mean, std);
    case 2: return interleaved<2>(out, in, pixels, mean, std);
    case 3: return interleaved<3>(out, in, pixels, mean, std);
    default: return interleaved<4>(out, in, pixels, mean, std);
  }
}

}  // namespace drapps::kernel
