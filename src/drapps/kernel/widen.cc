#include "drapps/kernel/widen.h"

#include "drapps/kernel/widen_kernels.h"

namespace drapps::kernel {

std::uint64_t widen(std::int64_t* out, const std::uint8_t* in, std::size_t width, std::size_t n, Level level) noexcept {
  const WidenKernels& kernels = level >= Level::kAvx2 ? kWidenAvx2 : kWidenPortable;
  switch (width) {
    case 1: return kernels.from8(out, in, n);
    case 2: return kernels.from16(out, in, n);
    case 4: return kernels.from32(out, in, n);
    default: return kernels.from64(out, in, n);
  }
}

}  // namespace drapps::kernel
