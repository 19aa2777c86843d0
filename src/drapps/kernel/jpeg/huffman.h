// Huffman decoding of sequential JPEG scans: MCU after MCU, from any bit whose DC predictors are known.
//
// 1. The data comes without stuffing and without restart markers, so bits are read eight bytes at a time, with no
//    branch.
// 2. What limits the speed is the chain look-up, shift, look-up. So one look at the next bits finds two codes where
//    both are short: the value of the first is in the table then, and that of the second is computed beside the chain.
//    To skip a block no values are needed, and one look covers as many codes as it has room for. A block may end
//    between two codes that were found together. That shows only afterwards; then the step is taken back.
// 3. Longer codes, 1 % of them in photographs, are found as the standard describes (T.81, F.2.2.3).
// 4. Whatever libjpeg would warn of or invent bits for is a failure here; the caller then leaves the picture to
//    libjpeg. A run past the end of a block, which libjpeg takes without a word, is taken in the same way.
//
// The idea of the branchless refill: F. Giesen, "Reading bits in far too many ways", 2018, variant 4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "drapps/kernel/level.h"

namespace drapps::kernel::jpeg {

/// One Huffman code, made for decoding. Each table is as large as pays: what a look finds must come from the first
/// cache. An entry is 0 where the look holds no whole code.
struct HuffmanTable {
  static constexpr int kSingleBits = 9, kPairBits = 10, kSeveralBits = 11;

  /// By the next bits: one code. Bits of code and value in 0..7, bits of the code in 8..15, coefficients that it moves
  /// on in 16..23 (kEndOfBlock for the end of the block), bits of the value in 24..31.
  std::array<std::uint32_t, std::size_t{1} << kSingleBits> single;

  /// By the next bits, in an AC table: one code or two, a first one, whose value is known from the look, and a last
  /// one. Bits of it all in 0..7, coefficients in 8..15; coefficients to the first value in 16..23 (to the last one
  /// where there is no first), coefficients before the last code in 24..31; where the last value ends, counted from the
  /// last of 64 bits, in 32..39, and its bits in 40..47; the first value in 48..63.
  std::array<std::uint64_t, std::size_t{1} << kPairBits> pair;

  /// By the next bits, in an AC table: as many codes as fit, without values. Bits of it all in 0..7, coefficients
  /// before the last code in 8..15, coefficients in 16..23.
  std::array<std::uint32_t, std::size_t{1} << kSeveralBits> several;

  // For any code: the first number of 16 bits, left aligned, past the codes of each length; what to add to a code to
  // get its place among the symbols; and those, as in `single`.
  std::array<std::uint32_t, 18> limit;
  std::array<std::int32_t, 17> offset;
  std::array<std::uint32_t, 256> symbol;
};

/// More coefficients than a block has.
inline constexpr std::uint32_t kEndOfBlock = 128;

enum class CodeClass : std::uint8_t { kDc, kAc };

/// Fills `table` from the 16 counts and the symbols of a DHT segment. False, with the table in any state, for one that
/// libjpeg refuses or that 8-bit baseline pictures cannot need: too many codes, DC values above 11 bits, AC above 10.
bool make_table(HuffmanTable& table, CodeClass kind, std::span<const std::uint8_t> counts_and_symbols) noexcept;

/// A place in the scan before an MCU.
struct Cursor {
  std::uint64_t bit = 0;             // of Scan::data
  std::array<std::int32_t, 3> dc{};  // predictors, by component of the frame
};

inline constexpr std::size_t kMaxBlocks = 6;  // of an MCU

/// Bytes that may be read past the data; zeros.
inline constexpr std::size_t kScanPadding = 512;

/// What is the same for the whole scan.
struct Scan {
  const std::uint8_t* data = nullptr;  // without stuffing and markers
  std::size_t size = 0;                // followed by kScanPadding zeros
  std::size_t blocks = 0;              // of an MCU
  struct McuBlock {
    std::uint8_t component = 0;
    const HuffmanTable* dc = nullptr;
    const HuffmanTable* ac = nullptr;
  };
  std::array<McuBlock, kMaxBlocks> block;
};

/// Where the coefficients of the blocks of MCU i go: block b to at[b] + i * step[b], aligned to 64 bytes.
struct BlockTargets {
  std::array<std::int16_t*, kMaxBlocks> at;
  std::array<std::ptrdiff_t, kMaxBlocks> step;
};

/// Decodes `count` MCUs; zeros stand where no coefficient was coded. False where the data is not a regular scan; the
/// targets are then in any state.
bool decode_mcus(const Scan& scan, Cursor& cursor, std::size_t count, const BlockTargets& targets,
                 Level level = active_level()) noexcept;

/// Moves past `count` MCUs.
bool skip_mcus(const Scan& scan, Cursor& cursor, std::size_t count, Level level = active_level()) noexcept;

/// Two runs of `count` MCUs each, their codes looked up in turn, so that one chain fills the other's waits.
bool decode_two(const Scan& scan, std::array<Cursor*, 2> cursors, std::size_t count,
                const std::array<BlockTargets, 2>& targets, Level level = active_level()) noexcept;

}  // namespace drapps::kernel::jpeg
