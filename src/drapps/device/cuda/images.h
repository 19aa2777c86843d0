// The kernels as they were compiled for GPUs when this was built (tools/gpu_kernels.py): none where they were not.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace drapps::device {

struct KernelImage {
  int architecture;  // of a cubin 10 · major + minor, which runs on that major from that minor on; of PTX the least
  bool ptx;          // compiled by the driver, for any architecture from that on; ends with a zero byte
  std::span<const unsigned char> bytes;
};

std::span<const KernelImage> kernel_images() noexcept;

/// The image that a GPU loads: of the cubins that it runs the latest, else the PTX; null where there is none for it.
const KernelImage* image_for(std::span<const KernelImage> images, int architecture) noexcept;

}  // namespace drapps::device
