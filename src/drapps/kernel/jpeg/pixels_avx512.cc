// Four blocks and 64 pixels at a time.
#include "drapps/kernel/jpeg/idct_lanes.h"
#include "drapps/kernel/jpeg/pixel_kernels.h"
#include "drapps/kernel/jpeg/upsample_vector.h"
#include "drapps/kernel/jpeg/vector512.h"
#include "drapps/kernel/jpeg/ycc_words.h"

namespace drapps::kernel::jpeg {

const PixelKernels kPixelsAvx512{LaneDct<Vector512>::inverse_dct, Upsample<Vector512>::across,
                                 Upsample<Vector512>::down, Upsample<Vector512>::both, ycc_to_rgb<Vector512>};

}  // namespace drapps::kernel::jpeg
