#include "drapps/rl/matrix_loops.h"

namespace drapps::rl {

const MatrixKernels kMatrixAvx512{add_product_of<16>, tanh_loop};

}  // namespace drapps::rl
