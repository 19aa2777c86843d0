// The functions of idct.h, upsample.h and ycc.h: each asks for its level.
#include "drapps/kernel/jpeg/idct.h"
#include "drapps/kernel/jpeg/pixel_kernels.h"
#include "drapps/kernel/jpeg/upsample.h"
#include "drapps/kernel/jpeg/ycc.h"

namespace drapps::kernel::jpeg {
namespace {

const PixelKernels& pixel_kernels(Level level) noexcept {
  switch (level) {
    case Level::kAvx512Vbmi: return kPixelsAvx512Vbmi;
    case Level::kAvx512: return kPixelsAvx512;
    case Level::kAvx2: return kPixelsAvx2;
    case Level::kPortable: break;
  }
  return kPixelsPortable;
}

}  // namespace

void inverse_dct(std::uint8_t* out, std::ptrdiff_t stride, const std::int16_t* blocks, std::size_t count,
                 const std::int16_t* quant, Level level) noexcept {
  pixel_kernels(level).inverse_dct(out, stride, blocks, count, quant);
}

void upsample_across(std::uint8_t* out, const std::uint8_t* in, std::size_t n, Level level) noexcept {
  pixel_kernels(level).upsample_across(out, in, n);
}

void upsample_down(std::uint8_t* out, const std::uint8_t* near, const std::uint8_t* far, std::size_t n, bool below,
                   Level level) noexcept {
  pixel_kernels(level).upsample_down(out, near, far, n, below);
}

void upsample_both(std::uint8_t* out, const std::uint8_t* near, const std::uint8_t* far, std::size_t n,
                   Level level) noexcept {
  pixel_kernels(level).upsample_both(out, near, far, n);
}

void replicate(std::uint8_t* out, const std::uint8_t* in, std::size_t n, int factor) noexcept {
  if (factor == 2) {
    for (std::size_t i = 0; i < n; ++i) out[2 * i] = out[2 * i + 1] = in[i];
  } else {
    for (std::size_t i = 0; i < n; ++i) out[4 * i] = out[4 * i + 1] = out[4 * i + 2] = out[4 * i + 3] = in[i];
  }
}

void ycc_to_rgb(std::uint8_t* red, std::uint8_t* green, std::uint8_t* blue, const std::uint8_t* y,
                const std::uint8_t* cb, const std::uint8_t* cr, std::size_t n, Level level) noexcept {
  std::uint8_t* const rgb[]{red, green, blue};
  const std::uint8_t* const ycc[]{y, cb, cr};
  pixel_kernels(level).ycc_to_rgb(rgb, ycc, n);
}

}  // namespace drapps::kernel::jpeg
