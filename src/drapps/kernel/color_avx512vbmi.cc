#include "drapps/kernel/color_rows.h"

namespace drapps::kernel {

const ColorKernels kColorAvx512Vbmi{luma, saturate, turn_hue};

}  // namespace drapps::kernel
