#include "drapps/rl/matrix_loops.h"

namespace drapps::rl {

const MatrixKernels kMatrixAvx2{add_product_of<8>, tanh_loop};

}  // namespace drapps::rl
