// The loops of huffman.h once per level. For huffman.cc and its tests.
#pragma once

#include "drapps/kernel/jpeg/huffman.h"

namespace drapps::kernel::jpeg {

struct HuffmanKernels {
  bool (*decode)(const Scan& scan, Cursor& cursor, std::size_t count, const BlockTargets& targets);
  bool (*skip)(const Scan& scan, Cursor& cursor, std::size_t count);
  bool (*decode_two)(const Scan& scan, std::array<Cursor*, 2> cursors, std::size_t count,
                     const std::array<BlockTargets, 2>& targets);
};

extern const HuffmanKernels kHuffmanPortable;  // the reference
extern const HuffmanKernels kHuffmanAvx2;      // with BMI2, whose shifts are what counts; AVX-512 has nothing to add

/// The entry for the code at the head of `bits`, left aligned, which is longer than kSingleBits; 0 where it is none.
std::uint32_t find_long(const HuffmanTable& table, std::uint64_t bits) noexcept;

}  // namespace drapps::kernel::jpeg
