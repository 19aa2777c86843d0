#include <cstdint>

namespace drapps::kernel::jpeg {
namespace {

inline std::uint64_t field(std::uint64_t bits, std::uint64_t place) { return __builtin_ia32_bextr_u64(bits, place); }

}  // namespace
}  // namespace drapps::kernel::jpeg

#include "drapps/kernel/jpeg/huffman_loops.h"

namespace drapps::kernel::jpeg {

const HuffmanKernels kHuffmanAvx2{decode, skip, decode_two};

}  // namespace drapps::kernel::jpeg
