// Two blocks and 32 pixels at a time.
#include "drapps/kernel/jpeg/idct_lanes.h"
#include "drapps/kernel/jpeg/pixel_kernels.h"
#include "drapps/kernel/jpeg/upsample_vector.h"
#include "drapps/kernel/jpeg/vector256.h"
#include "drapps/kernel/jpeg/ycc_words.h"

namespace drapps::kernel::jpeg {

const PixelKernels kPixelsAvx2{LaneDct<Vector256>::inverse_dct, Upsample<Vector256>::across, Upsample<Vector256>::down,
                               Upsample<Vector256>::both, ycc_to_rgb<Vector256>};

}  // namespace drapps::kernel::jpeg
