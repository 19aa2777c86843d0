#include "drapps/kernel/jpeg/unstuff.h"

#include <cstring>

#include "drapps/kernel/jpeg/unstuff_kernels.h"

namespace drapps::kernel::jpeg {

Unstuffed unstuff_portable(std::uint8_t* out, const std::uint8_t* in, std::size_t n) noexcept {
  std::size_t read = 0, written = 0;
  while (read < n) {
    const auto* match = static_cast<const std::uint8_t*>(std::memchr(in + read, 0xFF, n - read));
    const std::size_t plain = (match == nullptr ? n : static_cast<std::size_t>(match - in)) - read;
    std::memcpy(out + written, in + read, plain);
    read += plain;
    written += plain;
    if (match == nullptr || read + 1 == n || in[read + 1] != 0) break;
    out[written++] = 0xFF;
    read += 2;
  }
  return {read, written};
}

Unstuffed unstuff(std::uint8_t* out, const std::uint8_t* in, std::size_t n, Level level) noexcept {
  switch (level) {
    case Level::kAvx512Vbmi: return unstuff_avx512vbmi(out, in, n);
    case Level::kAvx512:
    case Level::kAvx2: return unstuff_avx2(out, in, n);
    case Level::kPortable: break;
  }
  return unstuff_portable(out, in, n);
}

}  // namespace drapps::kernel::jpeg
