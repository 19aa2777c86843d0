// One source for every level of huffman_kernels.h: what differs is the instructions for its shifts, and field(), which
// the file of the level defines before it includes this one:
//
//   std::uint64_t field(std::uint64_t bits, std::uint64_t place);
//
// The bits from number place & 0xFF on, as many as place >> 8 & 0xFF says.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>

#include "drapps/kernel/jpeg/huffman_kernels.h"
#include "drapps/kernel/jpeg/zigzag.h"

namespace drapps::kernel::jpeg {
// Every level has its own: the same name must not mean code for another CPU.
namespace {  // NOLINT(google-build-namespaces)

// Bytes that one block can take: 63 codes of 16 + 10 bits and one of 16 + 11.
constexpr std::size_t kBlockBytes = (63 * 26 + 27) / 8 + 1;
static_assert(kScanPadding >= kBlockBytes + 16);

/// The bits ahead, left aligned. Between refills 56 of them may be taken.
class Bits {
 public:
  Bits(const Scan& scan, std::uint64_t position) : next_(scan.data + position / 8) {
    refill();
    take(static_cast<std::uint32_t>(position % 8));
  }

  void refill() {
    std::uint64_t word;
    std::memcpy(&word, next_, sizeof(word));
    ahead_ |= __builtin_bswap64(word) >> (count_ & 63);
    next_ += 7 - (count_ >> 3 & 7);
    count_ |= 56;
  }
  /// Only the lowest 6 bits of `entry` count; those of count_ above them mean nothing, and are not kept clean.
  void take(std::uint32_t entry) {
    ahead_ <<= entry & 63;
    count_ -= entry;
  }
  /// Undoes a take() of that many bits. Slow, but it spares the loop a copy of everything.
  void give_back(std::uint64_t bits) {
    const std::uint64_t count = (count_ & 63) + bits;
    next_ -= (count + 7) / 8;
    ahead_ = 0;
    count_ = 0;
    refill();
    take(static_cast<std::uint32_t>(-count & 7));
  }
  std::uint64_t ahead() const { return ahead_; }
  template <class Entries>
  auto look(const Entries& entries) const {
    return entries[ahead_ >> (64 - std::countr_zero(std::tuple_size_v<Entries>))];
  }
  const std::uint8_t* next() const { return next_; }
  std::uint64_t position(const Scan& scan) const {
    return static_cast<std::uint64_t>(next_ - scan.data) * 8 - (count_ & 63);
  }

 private:
  const std::uint8_t* next_;
  std::uint64_t ahead_ = 0;
  std::uint32_t count_ = 0;
};

/// The number that `size` bits stand for (T.81, F.2.2.1, EXTEND); only the lowest 6 bits of `size` count. 0 for no
/// bits.
inline std::int16_t value_of(std::uint64_t bits, std::uint64_t size) {
  const std::uint64_t negative = (bits >> ((size - 1) & 63)) - 1;  // all ones where the highest bit is 0
  return static_cast<std::int16_t>(bits + (negative << (size & 63)) - negative);
}

/// The value behind the code of an entry of HuffmanTable::single.
inline std::int16_t value_behind(std::uint64_t ahead, std::uint32_t entry) {
  return value_of(field(ahead, ((64 - entry) & 63) | (entry >> 16 & 0xFF00)), entry >> 24);
}

inline std::uint32_t find(const HuffmanTable& table, const Bits& bits) {
  const std::uint32_t entry = bits.look(table.single);
  if (entry != 0) [[likely]]
    return entry;
  return find_long(table, bits.ahead());
}

/// Takes a DC code and its value; the refill before it is enough for one more code. False for no code.
inline bool take_dc(const HuffmanTable& table, Bits& bits, std::int32_t& predictor) {
  const std::uint32_t entry = find(table, bits);
  if (entry == 0) [[unlikely]]
    return false;
  predictor += value_behind(bits.ahead(), entry);
  bits.take(entry);
  return true;
}

/// One AC code and its value into the block. False for no code.
inline bool take_ac(const HuffmanTable& table, Bits& bits, std::int16_t* block, std::uint32_t& k) {
  const std::uint32_t entry = find(table, bits);
  if (entry == 0) [[unlikely]]
    return false;
  k += entry >> 16 & 0xFF;
  block[kZigzag[k - 1]] = value_behind(bits.ahead(), entry);
  bits.take(entry);
  return true;
}

/// Zeros a block. A vector type, because GCC makes a memset of this size a `rep stos`, with which it takes 8 %
/// longer (600 against 555 us for 500 x 375).
inline void clear(std::int16_t* block) {
  using Vector [[gnu::vector_size(32), gnu::may_alias]] = std::int64_t;
  auto* const at = reinterpret_cast<Vector*>(block);
  for (int i = 0; i < 4; ++i) at[i] = Vector{};
}

enum class BlockStep { kMore, kEnd, kBad };

/// One or two AC codes and their values into the block. Rotations, because they copy and shift in one instruction.
inline BlockStep take_pair(const HuffmanTable& table, Bits& bits, std::int16_t* block, std::uint32_t& k) {
  const std::uint64_t entry = bits.look(table.pair);
  if (entry == 0) [[unlikely]]
    return !take_ac(table, bits, block, k) ? BlockStep::kBad : k > 63 ? BlockStep::kEnd : BlockStep::kMore;
  block[kZigzag[k + (entry >> 16 & 0xFF) - 1]] = static_cast<std::int16_t>(std::rotr(entry, 48));
  k += entry >> 8 & 0xFF;
  block[kZigzag[k - 1]] = value_of(field(bits.ahead(), std::rotr(entry, 32)), std::rotr(entry, 40));
  bits.take(static_cast<std::uint32_t>(entry));
  if (k <= 63) return BlockStep::kMore;
  const std::uint32_t start = k - static_cast<std::uint32_t>(entry >> 8 & 0xFF);
  if (start + (entry >> 24 & 0xFF) > 63) [[unlikely]] {
    bits.give_back(entry & 0xFF);
    k = start;
    return take_ac(table, bits, block, k) ? BlockStep::kEnd : BlockStep::kBad;
  }
  return BlockStep::kEnd;
}

inline bool decode_block(const Scan::McuBlock& codes, Bits& bits, std::int16_t* block, std::int32_t& predictor) {
  clear(block);
  bits.refill();
  if (!take_dc(*codes.dc, bits, predictor)) return false;
  block[0] = static_cast<std::int16_t>(predictor);
  const HuffmanTable& ac = *codes.ac;
  std::uint32_t k = 1;
  while (true) {
    if (const BlockStep step = take_pair(ac, bits, block, k); step != BlockStep::kMore) return step == BlockStep::kEnd;
    bits.refill();
    if (const BlockStep step = take_pair(ac, bits, block, k); step != BlockStep::kMore) return step == BlockStep::kEnd;
  }
}

/// Several codes where they all belong to this block, else one. False for no code.
inline bool skip_ac(const HuffmanTable& table, Bits& bits, std::uint32_t& k) {
  std::uint32_t entry = bits.look(table.several);
  if (entry == 0 || k + (entry >> 8 & 0xFF) > 63) [[unlikely]] {
    entry = find(table, bits);
    if (entry == 0) return false;
  }
  k += entry >> 16 & 0xFF;
  bits.take(entry);
  return true;
}

inline bool skip_block(const Scan::McuBlock& codes, Bits& bits, std::int32_t& predictor) {
  bits.refill();
  if (!take_dc(*codes.dc, bits, predictor)) return false;
  const HuffmanTable& ac = *codes.ac;
  std::uint32_t k = 1;
  while (true) {
    if (!skip_ac(ac, bits, k)) return false;
    if (k > 63) return true;
    bits.refill();
    if (!skip_ac(ac, bits, k)) return false;
    if (k > 63) return true;
  }
}

/// Checks that every block begins within the data, so that the padding covers the block to its end, and that the last
/// block ends within the data.
class DataLimit {
 public:
  explicit DataLimit(const Scan& scan) : end_(scan.data + scan.size + 8), bits_(scan.size * 8) {}
  bool begins(const Bits& bits) const { return bits.next() <= end_; }
  bool leave(const Scan& scan, const Bits& bits, Cursor& cursor) const {
    cursor.bit = bits.position(scan);
    return cursor.bit <= bits_;
  }

 private:
  const std::uint8_t* end_;
  std::uint64_t bits_;
};

bool decode(const Scan& scan, Cursor& cursor, std::size_t count, const BlockTargets& targets) {
  Bits bits(scan, cursor.bit);
  const DataLimit limit(scan);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < scan.blocks; ++b) {
      const Scan::McuBlock& codes = scan.block[b];
      if (!limit.begins(bits)) return false;
      std::int16_t* const block = targets.at[b] + static_cast<std::ptrdiff_t>(i) * targets.step[b];
      if (!decode_block(codes, bits, block, cursor.dc[codes.component])) return false;
    }
  }
  return limit.leave(scan, bits, cursor);
}

bool skip(const Scan& scan, Cursor& cursor, std::size_t count) {
  Bits bits(scan, cursor.bit);
  const DataLimit limit(scan);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < scan.blocks; ++b) {
      const Scan::McuBlock& codes = scan.block[b];
      if (!limit.begins(bits) || !skip_block(codes, bits, cursor.dc[codes.component])) return false;
    }
  }
  return limit.leave(scan, bits, cursor);
}

/// The rest of a block, from coefficient k on.
inline bool finish_block(const HuffmanTable& ac, Bits& bits, std::int16_t* block, std::uint32_t k, BlockStep step) {
  while (step == BlockStep::kMore) {
    bits.refill();
    step = take_pair(ac, bits, block, k);
  }
  return step == BlockStep::kEnd;
}

inline bool decode_blocks(const Scan::McuBlock& codes, Bits& a, Bits& b, std::int16_t* block_a, std::int16_t* block_b,
                          std::int32_t& predictor_a, std::int32_t& predictor_b) {
  clear(block_a);
  clear(block_b);
  a.refill();
  b.refill();
  if (!take_dc(*codes.dc, a, predictor_a) || !take_dc(*codes.dc, b, predictor_b)) return false;
  block_a[0] = static_cast<std::int16_t>(predictor_a);
  block_b[0] = static_cast<std::int16_t>(predictor_b);
  const HuffmanTable& ac = *codes.ac;
  std::uint32_t k_a = 1, k_b = 1;
  while (true) {
    BlockStep step_a = take_pair(ac, a, block_a, k_a), step_b = take_pair(ac, b, block_b, k_b);
    if (step_a == BlockStep::kMore && step_b == BlockStep::kMore) {
      a.refill();
      b.refill();
      step_a = take_pair(ac, a, block_a, k_a);
      step_b = take_pair(ac, b, block_b, k_b);
      if (step_a == BlockStep::kMore && step_b == BlockStep::kMore) continue;
    }
    return finish_block(ac, a, block_a, k_a, step_a) && finish_block(ac, b, block_b, k_b, step_b);
  }
}

bool decode_two(const Scan& scan, std::array<Cursor*, 2> cursors, std::size_t count,
                const std::array<BlockTargets, 2>& targets) {
  Bits bits_a(scan, cursors[0]->bit), bits_b(scan, cursors[1]->bit);
  const DataLimit limit(scan);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t b = 0; b < scan.blocks; ++b) {
      const Scan::McuBlock& codes = scan.block[b];
      if (!limit.begins(bits_a) || !limit.begins(bits_b)) return false;
      const auto at = [&](const BlockTargets& of) { return of.at[b] + static_cast<std::ptrdiff_t>(i) * of.step[b]; };
      if (!decode_blocks(codes, bits_a, bits_b, at(targets[0]), at(targets[1]), cursors[0]->dc[codes.component],
                         cursors[1]->dc[codes.component])) {
        return false;
      }
    }
  }
  return limit.leave(scan, bits_a, *cursors[0]) && limit.leave(scan, bits_b, *cursors[1]);
}

}  // namespace
}  // namespace drapps::kernel::jpeg
