// The reference: one byte at a time.
#include "drapps/kernel/planes_kernels.h"

namespace drapps::kernel {
namespace {

template <std::size_t kChannels>
void deinterleave(std::uint8_t* const* out, const std::uint8_t* in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < kChannels; ++c) out[c][i] = in[kChannels * i + c];
  }
}

template <std::size_t kChannels>
void interleave(std::uint8_t* out, const std::uint8_t* const* in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < kChannels; ++c) out[kChannels * i + c] = in[c][i];
  }
}

void reverse(std::uint8_t* out, const std::uint8_t* in, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) out[i] = in[n - 1 - i];
}

void lookup(std::uint8_t* out, const std::uint8_t* in, std::size_t n, const std::uint8_t* table) {
  for (std::size_t i = 0; i < n; ++i) out[i] = table[in[i]];
}

}  // namespace

const PlaneKernels kPlanesPortable{deinterleave<3>, deinterleave<4>, interleave<3>, interleave<4>, reverse, lookup};

}  // namespace drapps::kernel
