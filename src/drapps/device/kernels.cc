#include "drapps/device/kernels.h"

#include <type_traits>

#include "drapps/device/kernel/augment.h"
#include "drapps/device/kernel/body.h"
#include "drapps/device/kernel/contrast.h"
#include "drapps/device/kernel/gather.h"
#include "drapps/device/kernel/jpeg_expand.h"
#include "drapps/device/kernel/jpeg_pixels.h"
#include "drapps/device/kernel/jpeg_scan.h"
#include "drapps/device/kernel/jpeg_transform.h"
#include "drapps/device/kernel/keep.h"
#include "drapps/device/kernel/mix.h"

namespace drapps::device {
namespace {

template <class Body>
constexpr Kernel kernel_of(const char* name) {
  using Arguments = typename Body::Arguments;
  using Shared = typename Body::Shared;
  static_assert(std::is_trivially_copyable_v<Arguments> && std::is_trivial_v<Shared> && sizeof(Shared) <= 48 << 10);
  return {.name = name,
          .argument_bytes = sizeof(Arguments),
          .threads = Body::kThreads,
          .shared_bytes = sizeof(Shared),
          .run_block = [](const std::byte* arguments, std::byte* shared, std::int32_t block, std::int32_t turn) {
            run_block<Body>(*reinterpret_cast<const Arguments*>(arguments), *reinterpret_cast<Shared*>(shared), block,
                            turn);
          }};
}

constexpr std::array<Kernel, kKernels> kKernelList{kernel_of<Augment>("drapps_augment"),
                                                   kernel_of<Keep>("drapps_keep"),
                                                   kernel_of<ContrastSum>("drapps_contrast_sum"),
                                                   kernel_of<ContrastMean>("drapps_contrast_mean"),
                                                   kernel_of<MixPixels>("drapps_mix"),
                                                   kernel_of<Gather>("drapps_gather"),
                                                   kernel_of<JpegHuffman>("drapps_jpeg_huffman"),
                                                   kernel_of<JpegExpand>("drapps_jpeg_expand"),
                                                   kernel_of<JpegTransform>("drapps_jpeg_transform"),
                                                   kernel_of<JpegPixels>("drapps_jpeg_pixels")};

}  // namespace

const Kernel& kernel(KernelId id) noexcept { return kKernelList[static_cast<std::size_t>(id)]; }

}  // namespace drapps::device
