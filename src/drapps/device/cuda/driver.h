// The library of NVIDIA's driver (libcuda), loaded while the process runs.
//
// It comes with the driver and may be absent; to build takes neither it nor its headers. The functions and numbers in
// driver.cc are its public ABI (CUDA Driver API 11.7 to 13). Loading it makes no context on any device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "drapps/base/result.h"

namespace drapps::device {

inline constexpr const char* kCudaLibrary = "libcuda.so.1";

/// The driver's handles, as it gives them: CUcontext, CUstream, CUevent, CUmodule, CUfunction, CUdeviceptr.
using CudaHandle = void*;
using CudaAddress = std::uint64_t;

/// One function each of the driver's, by their names there; all give a CUresult.
struct CudaFunctions {
  int (*init)(unsigned);
  int (*error_name)(int, const char**);
  int (*device_count)(int*);
  int (*device_get)(int*, int);
  int (*device_name)(char*, int, int);
  int (*device_attribute)(int*, int, int);
  int (*retain)(CudaHandle*, int);
  int (*release)(int);
  int (*push)(CudaHandle);
  int (*pop)(CudaHandle*);
  int (*exchange_capture_mode)(int*);
  int (*allocate)(CudaAddress*, std::size_t);
  int (*free)(CudaAddress);
  int (*allocate_host)(void**, std::size_t, unsigned);
  int (*free_host)(void*);
  int (*stream_priorities)(int*, int*);
  int (*stream_create)(CudaHandle*, unsigned, int);
  int (*stream_synchronize)(CudaHandle);
  int (*stream_destroy)(CudaHandle);
  int (*stream_wait)(CudaHandle, CudaHandle, unsigned);
  int (*event_create)(CudaHandle*, unsigned);
  int (*event_destroy)(CudaHandle);
  int (*event_record)(CudaHandle, CudaHandle);
  int (*event_query)(CudaHandle);
  int (*event_synchronize)(CudaHandle);
  int (*event_elapsed)(float*, CudaHandle, CudaHandle);
  int (*copy_in)(CudaAddress, const void*, std::size_t, CudaHandle);
  int (*copy_out)(void*, CudaAddress, std::size_t, CudaHandle);
  int (*module_load)(CudaHandle*, const void*);
  int (*module_unload)(CudaHandle);
  int (*module_function)(CudaHandle*, CudaHandle, const char*);
  int (*launch)(CudaHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaHandle, void**,
                void**);
};

// CUresult: those that somebody here tells apart.
inline constexpr int kCudaSuccess = 0;
inline constexpr int kCudaOutOfMemory = 2;
inline constexpr int kCudaNotReady = 600;

class CudaDriver {
 public:
  /// Loads and starts it; once for a path in a process, and kept.
  /// @param library  what dlopen() takes.
  /// kUnsupported where there is no library, no driver to it or no device, or where it is older than CUDA 11.7.
  static Result<std::shared_ptr<const CudaDriver>> load(const char* library = kCudaLibrary);

  const CudaFunctions& call() const noexcept { return functions_; }
  /// What a call gave, as an error of stage kDeliver that says `what` was tried; see device.h for the codes.
  Status check(int result, const char* what) const;

 private:
  explicit CudaDriver(const CudaFunctions& functions) noexcept : functions_(functions) {}
  CudaFunctions functions_;
};

}  // namespace drapps::device
