#include "drapps/kernel/jpeg/huffman_loops.h"

namespace drapps::kernel::jpeg {

const HuffmanKernels kHuffmanPortable{decode, skip, decode_two};

}  // namespace drapps::kernel::jpeg
