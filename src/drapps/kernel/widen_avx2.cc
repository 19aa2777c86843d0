#include "drapps/kernel/widen_kernels.h"
#include "drapps/kernel/widen_loops.h"

namespace drapps::kernel {

const WidenKernels kWidenAvx2 = kWidenHere;

}  // namespace drapps::kernel
