#include "drapps/rl/matrix_loops.h"

namespace drapps::rl {

const MatrixKernels kMatrixPortable{add_product_of<4>, tanh_loop};

}  // namespace drapps::rl
