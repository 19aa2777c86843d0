#include "drapps/kernel/color_rows.h"

namespace drapps::kernel {

const ColorKernels kColorPortable{luma, saturate, turn_hue};

}  // namespace drapps::kernel
