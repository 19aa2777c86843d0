// The reference: the table, looked up.
#include "drapps/kernel/normalize_kernels.h"

namespace drapps::kernel {
namespace {

void to_float32(float* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table, bool /*stream*/) {
  for (std::size_t i = 0; i < n; ++i) out[i] = table.value[in[i]];
}

void to_bfloat16(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table,
                 bool /*stream*/) {
  for (std::size_t i = 0; i < n; ++i) out[i] = table.bfloat16.value[in[i]];
}

void to_float16(std::uint16_t* out, const std::uint8_t* in, std::size_t n, const ChannelTable& table, bool /*stream*/) {
  for (std::size_t i = 0; i < n; ++i) out[i] = table.float16.value[in[i]];
}

template <class T>
void interleave3(T* out, const T* in, std::size_t stride, std::size_t n, bool /*stream*/) {
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t c = 0; c < 3; ++c) out[3 * i + c] = in[c * stride + i];
  }
}

}  // namespace

const NormalizeKernels kNormalizePortable{to_float32, to_bfloat16, to_float16, interleave3<std::uint32_t>,
                                          interleave3<std::uint16_t>};

}  // namespace drapps::kernel
