#include "drapps/kernel/widen_kernels.h"
#include "drapps/kernel/widen_loops.h"

namespace drapps::kernel {

const WidenKernels kWidenPortable = kWidenHere;

}  // namespace drapps::kernel
