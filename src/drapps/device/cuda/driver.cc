#include "drapps/device/cuda/driver.h"

#include <dlfcn.h>

#include "drapps/base/caught.h"

namespace drapps::device {
namespace {

Error no_driver(const std::string& why) {
  return {.code = ErrorCode::kUnsupported,
          .stage = Stage::kSetup,
          .message = "no device of CUDA can be used: " + why + "; leave out device=, or see to the driver"};
}

}  // namespace

Result<std::shared_ptr<const CudaDriver>> CudaDriver::load(const char* library) {
  // It stays in memory: contexts of others in this process need it, and its threads may outlive what asked for it.
  void* const handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) return no_driver("there is no " + std::string(library) + " on this machine");
  CudaFunctions f{};
  const char* missing = nullptr;
  const auto find = [&]<class Function>(Function*& function, const char* name) {
    function = reinterpret_cast<Function*>(::dlsym(handle, name));
    if (function == nullptr) missing = name;
  };
  find(f.init, "cuInit");
  find(f.error_name, "cuGetErrorName");
  find(f.device_count, "cuDeviceGetCount");
  find(f.device_get, "cuDeviceGet");
  find(f.device_name, "cuDeviceGetName");
  find(f.device_attribute, "cuDeviceGetAttribute");
  find(f.retain, "cuDevicePrimaryCtxRetain");
  find(f.release, "cuDevicePrimaryCtxRelease_v2");
  find(f.push, "cuCtxPushCurrent_v2");
  find(f.pop, "cuCtxPopCurrent_v2");
  find(f.exchange_capture_mode, "cuThreadExchangeStreamCaptureMode");
  find(f.allocate, "cuMemAlloc_v2");
  find(f.free, "cuMemFree_v2");
  find(f.allocate_host, "cuMemHostAlloc");
  find(f.free_host, "cuMemFreeHost");
  find(f.stream_priorities, "cuCtxGetStreamPriorityRange");
  find(f.stream_create, "cuStreamCreateWithPriority");
  find(f.stream_synchronize, "cuStreamSynchronize");
  find(f.stream_destroy, "cuStreamDestroy_v2");
  find(f.stream_wait, "cuStreamWaitEvent");
  find(f.event_create, "cuEventCreate");
  find(f.event_destroy, "cuEventDestroy_v2");
  find(f.event_record, "cuEventRecord");
  find(f.event_query, "cuEventQuery");
  find(f.event_synchronize, "cuEventSynchronize");
  find(f.event_elapsed, "cuEventElapsedTime");
  find(f.copy_in, "cuMemcpyHtoDAsync_v2");
  find(f.copy_out, "cuMemcpyDtoHAsync_v2");
  find(f.module_load, "cuModuleLoadData");
  find(f.module_unload, "cuModuleUnload");
  find(f.module_function, "cuModuleGetFunction");
  find(f.launch, "cuLaunchKernel");
  if (missing != nullptr) return no_driver("its driver has no " + std::string(missing));
  if (const int started = f.init(0); started != kCudaSuccess) {
    return no_driver("cuInit() gives " + std::to_string(started));
  }
  return catching([&]() -> Result<std::shared_ptr<const CudaDriver>> {
    return std::shared_ptr<const CudaDriver>(new CudaDriver(f));
  });
}

Status CudaDriver::check(int result, const char* what) const {
  if (result == kCudaSuccess) return ok_status();
  const char* name = nullptr;
  if (functions_.error_name(result, &name) != kCudaSuccess || name == nullptr) name = "an unknown error";
  const bool memory = result == kCudaOutOfMemory;
  return Error{.code = memory ? ErrorCode::kResourceExhausted : ErrorCode::kDeviceLost,
               .stage = Stage::kDeliver,
               .message = std::string(what) + " on the GPU failed with " + name + " (" + std::to_string(result) +
                          "); " +
                          (memory ? "a smaller batch or device_memory leaves room"
                                  : "the context of this process may be of no use any more: start it again")};
}

}  // namespace drapps::device
