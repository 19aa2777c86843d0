#include "drapps/device/cuda/cuda_stand_in_test.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <vector>

#include "drapps/device/cuda/driver.h"
#include "drapps/device/kernels.h"

using drapps::device::CudaAddress;
using drapps::device::CudaHandle;
using drapps::device::CudaStandIn;

#define DRAPPS_EXPORT __attribute__((visibility("default")))

namespace {

CudaStandIn state;
thread_local int capture_mode = 0;
thread_local int depth = 0;

int create(int& count, CudaHandle* handle) {
  ++count;
  *handle = new int(0);
  return 0;
}

int ended(int& count, CudaHandle handle) {
  --count;
  delete static_cast<int*>(handle);
  return 0;
}

/// A call that may need a context and may be unsafe for captures.
int entered(int result = 0) {
  if (depth == 0) return 201;  // CUDA_ERROR_INVALID_CONTEXT
  if (capture_mode != 2) ++state.checked_calls;
  if (state.fail_next != 0) {
    result = state.fail_next;
    state.fail_next = 0;
  }
  return result;
}

}  // namespace

// The driver's names, and addresses as numbers.
// NOLINTBEGIN(readability-identifier-naming, performance-no-int-to-ptr)
extern "C" {

DRAPPS_EXPORT CudaStandIn* drapps_cuda_stand_in() { return &state; }

DRAPPS_EXPORT int cuInit(unsigned) { return 0; }
DRAPPS_EXPORT int cuGetErrorName(int result, const char** name) {
  *name = result == 2 ? "CUDA_ERROR_OUT_OF_MEMORY" : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR";
  return 0;
}
DRAPPS_EXPORT int cuDeviceGetCount(int* count) { return *count = 1, 0; }
DRAPPS_EXPORT int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, 0; }
DRAPPS_EXPORT int cuDeviceGetName(char* name, int, int) { return std::strcpy(name, "Stand-in"), 0; }
DRAPPS_EXPORT int cuDeviceGetAttribute(int* value, int attribute, int) {
  return *value = attribute == 75 ? 9 : 0, 0;  // compute capability 9.0
}
DRAPPS_EXPORT int cuDevicePrimaryCtxRetain(CudaHandle* context, int) {
  ++state.contexts;
  return *context = &state, 0;
}
DRAPPS_EXPORT int cuDevicePrimaryCtxRelease_v2(int) { return --state.contexts, 0; }
DRAPPS_EXPORT int cuCtxPushCurrent_v2(CudaHandle) { return ++depth, ++state.current, 0; }
DRAPPS_EXPORT int cuCtxPopCurrent_v2(CudaHandle*) { return --depth, --state.current, 0; }
DRAPPS_EXPORT int cuThreadExchangeStreamCaptureMode(int* mode) {
  const int before = capture_mode;
  capture_mode = *mode;
  *mode = before;
  return 0;
}
DRAPPS_EXPORT int cuMemAlloc_v2(CudaAddress* address, std::size_t bytes) {
  if (state.no_memory) return 2;
  if (const int result = entered(); result != 0) return result;
  ++state.blocks_of_memory;
  *address = reinterpret_cast<CudaAddress>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  return 0;
}
DRAPPS_EXPORT int cuMemFree_v2(CudaAddress address) {
  --state.blocks_of_memory;
  std::free(reinterpret_cast<void*>(address));
  return entered();
}
DRAPPS_EXPORT int cuMemHostAlloc(void** data, std::size_t bytes, unsigned) {
  ++state.blocks_of_memory;
  *data = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  return entered();
}
DRAPPS_EXPORT int cuMemFreeHost(void* data) {
  --state.blocks_of_memory;
  std::free(data);
  return entered();
}
DRAPPS_EXPORT int cuCtxGetStreamPriorityRange(int* least, int* greatest) {
  return *least = state.least_priority, *greatest = -5, entered();
}
DRAPPS_EXPORT int cuStreamCreateWithPriority(CudaHandle* stream, unsigned, int priority) {
  state.priority = priority;
  return create(state.streams, stream), entered();
}
DRAPPS_EXPORT int cuStreamSynchronize(CudaHandle) { return entered(); }
DRAPPS_EXPORT int cuStreamDestroy_v2(CudaHandle stream) { return ended(state.streams, stream), entered(); }
DRAPPS_EXPORT int cuStreamWaitEvent(CudaHandle, CudaHandle, unsigned) { return entered(); }
DRAPPS_EXPORT int cuEventCreate(CudaHandle* event, unsigned) { return create(state.events, event), entered(); }
DRAPPS_EXPORT int cuEventDestroy_v2(CudaHandle event) { return ended(state.events, event), entered(); }
DRAPPS_EXPORT int cuEventRecord(CudaHandle event, CudaHandle) { return *static_cast<int*>(event) = 1, entered(); }
/// Is not ready when it is asked first.
DRAPPS_EXPORT int cuEventQuery(CudaHandle event) {
  int& asked = *static_cast<int*>(event);
  return entered(asked++ == 1 ? 600 : 0);
}
DRAPPS_EXPORT int cuEventSynchronize(CudaHandle) { return entered(); }
DRAPPS_EXPORT int cuEventElapsedTime(float* milliseconds, CudaHandle, CudaHandle) {
  *milliseconds = 0.25F;
  return entered();
}
DRAPPS_EXPORT int cuMemcpyHtoDAsync_v2(CudaAddress to, const void* from, std::size_t bytes, CudaHandle) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return entered();
}
DRAPPS_EXPORT int cuMemcpyDtoHAsync_v2(void* to, CudaAddress from, std::size_t bytes, CudaHandle) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return entered();
}
DRAPPS_EXPORT int cuModuleLoadData(CudaHandle* module, const void* image) {
  if (std::string_view(static_cast<const char*>(image)) != "kernels") return 200;  // CUDA_ERROR_INVALID_IMAGE
  return create(state.modules, module), entered();
}
DRAPPS_EXPORT int cuModuleUnload(CudaHandle module) { return ended(state.modules, module), entered(); }
DRAPPS_EXPORT int cuModuleGetFunction(CudaHandle* function, CudaHandle, const char* name) {
  for (std::size_t i = 0; i < drapps::device::kKernels; ++i) {
    const auto& kernel = drapps::device::kernel(static_cast<drapps::device::KernelId>(i));
    if (kernel.name == std::string_view(name)) {
      *function = const_cast<drapps::device::Kernel*>(&kernel);
      return entered();
    }
  }
  return 500;  // CUDA_ERROR_NOT_FOUND
}
DRAPPS_EXPORT int cuLaunchKernel(CudaHandle function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                                 unsigned, unsigned, CudaHandle, void** parameters, void**) {
  const auto& kernel = *static_cast<const drapps::device::Kernel*>(function);
  if (static_cast<int>(threads) != kernel.threads) return 1;  // CUDA_ERROR_INVALID_VALUE
  std::vector<std::max_align_t> shared(kernel.shared_bytes / sizeof(std::max_align_t) + 1);
  for (unsigned block = 0; block < blocks; ++block) {
    kernel.run_block(static_cast<const std::byte*>(parameters[0]), reinterpret_cast<std::byte*>(shared.data()),
                     static_cast<int>(block), 0);
  }
  return entered();
}

}  // extern "C"
// NOLINTEND(readability-identifier-naming, performance-no-int-to-ptr)
