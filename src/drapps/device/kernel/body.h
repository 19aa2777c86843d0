// Kernels with one body, for a GPU and for the host.
//
// A body is a struct of static members:
//
//   Arguments   trivially copyable; pointers in it are of the device's memory
//   Shared      trivial, at most 48 KiB: memory of one block, its content unspecified when the first phase begins
//   kThreads    threads of a block
//   kPhases     how many phases there are
//   phase<N>(const Arguments&, Shared&, block, thread)
//
// A block goes through its phases one after another; each is run for all its threads before the next begins. On a GPU
// a barrier stands between them (gpu.cu), on the host a loop runs each (run_block() below). Threads of one phase run
// at once, or in any order: what one writes no other reads or writes before the next phase. Nothing of a thread is left
// in its next phase but what it wrote to memory. Blocks of one launch share no memory that any of them writes.
//
// Bodies are written in what NVRTC compiles without a header of CUDA, or of the standard library but those few lines of
// it that tools/gpu_kernels.py writes out, and without a mark on functions: templates, inline functions and plain
// structs; no statics, exceptions or allocation.
// Floats are rounded after every operation on either side: NVRTC is told --fmad=false, the host's compiler
// -ffp-contract=off.
#pragma once

#include <cstdint>

namespace drapps::device {

/// All phases of one block from kPhase on, on the calling thread. `turn` is the first thread of each phase; the others
/// follow it, and those before it come last: results do not depend on it.
template <class Body, std::int32_t kPhase = 0>
void run_block(const typename Body::Arguments& arguments, typename Body::Shared& shared, std::int32_t block,
               std::int32_t turn = 0) {
  for (std::int32_t thread = turn; thread < Body::kThreads; ++thread) {
    Body::template phase<kPhase>(arguments, shared, block, thread);
  }
  for (std::int32_t thread = 0; thread < turn; ++thread) {
    Body::template phase<kPhase>(arguments, shared, block, thread);
  }
  if constexpr (kPhase + 1 < Body::kPhases) run_block<Body, kPhase + 1>(arguments, shared, block, turn);
}

}  // namespace drapps::device
