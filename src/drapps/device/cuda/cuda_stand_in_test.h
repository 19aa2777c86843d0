// For the tests of this folder: a library in the place of CUDA's driver, with one GPU whose memory is the host's. What
// is asked of a stream is done at once; kernels are the bodies, run on the host.
#pragma once

namespace drapps::device {

struct CudaStandIn {
  int contexts = 0;       // retained and not released
  int current = 0;        // pushed and not popped, of all threads
  int relaxed = 0;        // threads whose capture mode is the relaxed one
  int checked_calls = 0;  // unsafe for captures of others, and made in another mode
  int blocks_of_memory = 0;
  int streams = 0, events = 0, modules = 0;
  int least_priority = 0;  // that streams may have: the larger the number, the lower
  int priority = 0;        // of the stream that was made last
  int fail_next = 0;       // the CUresult that the next call of a stream gives, once
  bool no_memory = false;
};

/// The name and the type of the function that gives the library's own.
inline constexpr const char* kCudaStandInState = "drapps_cuda_stand_in";
using CudaStandInState = CudaStandIn*();

}  // namespace drapps::device
