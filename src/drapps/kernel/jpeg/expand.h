// What the coefficient form asks of the CPU: blocks with and without their zeros, and sums over 64-byte lanes.
//
// A block without its zeros is a mask of 64 bits and the coefficients whose bits are set, in the order of the block
// (row by row, bit i for coefficient i). The first coefficient, the DC, stands apart as 16 bits, so bit 0 is free: it
// says that the block is wide.
//
//   narrow   every other coefficient fits in a signed byte: those that are not 0, a byte each
//   wide     some do not: the low bytes of those that are not 0, then as many high bytes
//
// Numbers are little-endian and need no alignment. At AVX-512 one instruction, vpexpandw, puts numbers where a mask has
// bits; at AVX2 a table of 256 shuffles does it for eight coefficients at a time.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "drapps/kernel/level.h"

namespace drapps::kernel::jpeg {

inline constexpr std::size_t kMaskBytes = 8, kDcBytes = 2, kMaxValueBytes = 126;  // of a block
inline constexpr std::uint64_t kWide = 1;

/// Bytes of the values of one block.
constexpr std::size_t value_bytes(std::uint64_t mask) noexcept {
  return static_cast<std::size_t>(std::popcount(mask & ~kWide)) << (mask & kWide);
}

/// Bytes of the values of `count` blocks.
std::size_t value_bytes(const std::uint8_t* masks, std::size_t count, Level level = active_level()) noexcept;

/// Fills `count` blocks of kBlock coefficients that lie one behind the other, aligned to 64 bytes. Up to 64 bytes past
/// the last number of `dc` and the last value may be read.
/// @return the end of their values.
const std::uint8_t* expand(std::int16_t* blocks, const std::uint8_t* masks, const std::uint8_t* dc,
                           const std::uint8_t* values, std::size_t count, Level level = active_level()) noexcept;

/// The inverse of expand(). `values` has room for count * kMaxValueBytes and 64 more, which may be written.
/// @return the end of their values.
std::uint8_t* pack(std::uint8_t* masks, std::uint8_t* dc, std::uint8_t* values, const std::int16_t* blocks,
                   std::size_t count, Level level = active_level()) noexcept;

inline constexpr std::size_t kLane = 64;

/// A sum that any change of up to four neighbouring bytes in place alters (of one 32-bit word, to be exact), and any
/// other damage but for one case in 2^60 or so. It protects from accidents, not from forgers.
///
/// Fletcher's sums: of the words, and of those sums after every lane, for each of the 16 words of a lane. Both are
/// exact in 64 bits up to 2^16 lanes. Each is multiplied by a constant of its own, odd for the first kind and even for
/// the second, so that the difference a single word makes, word * (odd + lanes * even), cannot vanish.
std::uint64_t lane_sum(const std::uint8_t* data, std::size_t lanes, Level level = active_level()) noexcept;

}  // namespace drapps::kernel::jpeg
