#include "drapps/kernel/jpeg/huffman_loops.h"

namespace drapps::kernel::jpeg {

const HuffmanKernels kHuffmanAvx2{decode, skip, decode_two};

}  // namespace drapps::kernel::jpeg
