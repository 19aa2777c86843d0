#include "drapps/device/cuda/images.h"

#include <array>

namespace drapps::device {
namespace {

// Defines kImages: a constexpr array of KernelImage, or an empty std::array where no kernels were compiled.
#include "kernel_images.inc"

}  // namespace

std::span<const KernelImage> kernel_images() noexcept { return kImages; }

const KernelImage* image_for(std::span<const KernelImage> images, int architecture) noexcept {
  const KernelImage* best = nullptr;
  for (const KernelImage& image : images) {
    const bool runs = image.ptx ? architecture >= image.architecture
                                : architecture / 10 == image.architecture / 10 && architecture >= image.architecture;
    if (!runs) continue;
    const bool better = best == nullptr || (best->ptx && !image.ptx) ||
                        (best->ptx == image.ptx && best->architecture < image.architecture);
    if (better) best = &image;
  }
  return best;
}

}  // namespace drapps::device
