#include "drapps/kernel/color_rows.h"

namespace drapps::kernel {

const ColorKernels kColorAvx2{luma, saturate, turn_hue};

}  // namespace drapps::kernel
