// What NVRTC compiles: every body of this folder as a kernel, a barrier between its phases.
#include "drapps/device/kernel/augment.h"
#include "drapps/device/kernel/gather.h"
#include "drapps/device/kernel/jpeg_expand.h"
#include "drapps/device/kernel/jpeg_pixels.h"
#include "drapps/device/kernel/jpeg_scan.h"
#include "drapps/device/kernel/jpeg_transform.h"

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

extern "C" __global__ void __launch_bounds__(drapps::device::Augment::kThreads)
    drapps_augment(const __grid_constant__ drapps::device::Augment::Arguments arguments) {
  __shared__ drapps::device::Augment::Shared shared;
  drapps::device::run_thread<drapps::device::Augment>(arguments, shared);
}

extern "C" __global__ void __launch_bounds__(drapps::device::Gather::kThreads)
    drapps_gather(const __grid_constant__ drapps::device::Gather::Arguments arguments) {
  __shared__ drapps::device::Gather::Shared shared;
  drapps::device::run_thread<drapps::device::Gather>(arguments, shared);
}

extern "C" __global__ void __launch_bounds__(drapps::device::JpegHuffman::kThreads)
    drapps_jpeg_huffman(const __grid_constant__ drapps::device::JpegHuffman::Arguments arguments) {
  __shared__ drapps::device::JpegHuffman::Shared shared;
  drapps::device::run_thread<drapps::device::JpegHuffman>(arguments, shared);
}

extern "C" __global__ void __launch_bounds__(drapps::device::JpegExpand::kThreads)
    drapps_jpeg_expand(const __grid_constant__ drapps::device::JpegExpand::Arguments arguments) {
  __shared__ drapps::device::JpegExpand::Shared shared;
  drapps::device::run_thread<drapps::device::JpegExpand>(arguments, shared);
}

extern "C" __global__ void __launch_bounds__(drapps::device::JpegTransform::kThreads)
    drapps_jpeg_transform(const __grid_constant__ drapps::device::JpegTransform::Arguments arguments) {
  __shared__ drapps::device::JpegTransform::Shared shared;
  drapps::device::run_thread<drapps::device::JpegTransform>(arguments, shared);
}

extern "C" __global__ void __launch_bounds__(drapps::device::JpegPixels::kThreads)
    drapps_jpeg_pixels(const __grid_constant__ drapps::device::JpegPixels::Arguments arguments) {
  __shared__ drapps::device::JpegPixels::Shared shared;
  drapps::device::run_thread<drapps::device::JpegPixels>(arguments, shared);
}
