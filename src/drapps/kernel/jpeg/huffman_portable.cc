#include <cstdint>

namespace drapps::kernel::jpeg {
namespace {

inline std::uint64_t field(std::uint64_t bits, std::uint64_t place) {
  return bits >> (place & 0x3F) & ((std::uint64_t{1} << (place >> 8 & 0x3F)) - 1);
}

}  // namespace
}  // namespace drapps::kernel::jpeg

#include "drapps/kernel/jpeg/huffman_loops.h"

namespace drapps::kernel::jpeg {

const HuffmanKernels kHuffmanPortable{decode, skip, decode_two};

}  // namespace drapps::kernel::jpeg
