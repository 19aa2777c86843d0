// What NVRTC compiles: every body of this folder as a kernel, a barrier between its phases.
#include "drapps/device/kernel/augment.h"
#include "drapps/device/kernel/contrast.h"
#include "drapps/device/kernel/gather.h"
#include "drapps/device/kernel/jpeg_expand.h"
#include "drapps/device/kernel/jpeg_pixels.h"
#include "drapps/device/kernel/jpeg_scan.h"
#include "drapps/device/kernel/jpeg_transform.h"
#include "drapps/device/kernel/keep.h"
#include "drapps/device/kernel/mix.h"

namespace drapps::device {

template <class Body, std::int32_t kPhase = 0>
void run_thread(const typename Body::Arguments& arguments, typename Body::Shared& shared) {
  Body::template phase<kPhase>(arguments, shared, static_cast<std::int32_t>(blockIdx.x),
                               static_cast<std::int32_t>(threadIdx.x));
  if constexpr (kPhase + 1 < Body::kPhases) {
    __syncthreads();
    run_thread<Body, kPhase + 1>(arguments, shared);
  }
}

}  // namespace drapps::device

#define DRAPPS_KERNEL(name, Body)                                                        \
  extern "C" __global__ void __launch_bounds__(drapps::device::Body::kThreads)           \
      drapps_##name(const __grid_constant__ drapps::device::Body::Arguments arguments) { \
    __shared__ drapps::device::Body::Shared shared;                                      \
    drapps::device::run_thread<drapps::device::Body>(arguments, shared);                 \
  }

DRAPPS_KERNEL(augment, Augment)
DRAPPS_KERNEL(keep, Keep)
DRAPPS_KERNEL(contrast_sum, ContrastSum)
DRAPPS_KERNEL(contrast_mean, ContrastMean)
DRAPPS_KERNEL(mix, MixPixels)
DRAPPS_KERNEL(gather, Gather)
DRAPPS_KERNEL(jpeg_huffman, JpegHuffman)
DRAPPS_KERNEL(jpeg_expand, JpegExpand)
DRAPPS_KERNEL(jpeg_transform, JpegTransform)
DRAPPS_KERNEL(jpeg_pixels, JpegPixels)
