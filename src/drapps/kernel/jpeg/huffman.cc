#include "drapps/kernel/jpeg/huffman.h"

#include <algorithm>

#include "drapps/kernel/jpeg/huffman_kernels.h"

namespace drapps::kernel::jpeg {
namespace {

constexpr std::uint32_t entry(std::uint32_t code_bits, std::uint32_t value_bits, std::uint32_t advance) {
  return (code_bits + value_bits) | code_bits << 8 | advance << 16 | value_bits << 24;
}
constexpr std::uint32_t bits_of(std::uint32_t entry) { return entry & 0xFF; }
constexpr std::uint32_t code_bits_of(std::uint32_t entry) { return entry >> 8 & 0xFF; }
constexpr std::uint32_t advance_of(std::uint32_t entry) { return entry >> 16 & 0xFF; }
constexpr std::uint32_t value_bits_of(std::uint32_t entry) { return entry >> 24; }

/// 0 for symbols that are not taken.
std::uint32_t entry_of(CodeClass kind, std::uint32_t code_bits, std::uint8_t symbol) {
  if (kind == CodeClass::kDc) return symbol <= 11 ? entry(code_bits, symbol, 1) : 0;
  const std::uint32_t run = symbol >> 4, value_bits = symbol & 15;
  if (value_bits > 10) return 0;
  // A run of fewer than 15 without a value ends the block, as in libjpeg.
  if (value_bits == 0 && run != 15) return entry(code_bits, 0, kEndOfBlock);
  return entry(code_bits, value_bits, run + 1);
}

/// The codes of a table by kBits bits, from which the tables of entries for several codes are made.
template <int kBits>
class Lookup {
 public:
  static constexpr std::uint32_t kSize = 1u << kBits;

  void add(std::uint32_t code, std::uint32_t length, std::uint32_t entry) {
    if (length > kBits) return;
    std::fill_n(entries_.begin() + (code << (kBits - length)), std::size_t{1} << (kBits - length), entry);
  }
  std::uint32_t operator[](std::uint32_t look) const { return entries_[look]; }
  /// The code that begins `bits` behind the begin of a look, where the look holds all of it.
  std::uint32_t behind(std::uint32_t look, std::uint32_t bits) const {
    if (bits >= kBits) return 0;
    const std::uint32_t entry = entries_[look << bits & (kSize - 1)];
    return bits + code_bits_of(entry) <= kBits ? entry : 0;
  }

 private:
  std::array<std::uint32_t, kSize> entries_{};
};

template <int kBits>
std::uint32_t several_of(const Lookup<kBits>& lookup, std::uint32_t look) {
  std::uint32_t bits = 0, before = 0, advance = 0;
  while (advance < kEndOfBlock) {
    const std::uint32_t next = lookup.behind(look, bits);
    if (next == 0 || advance + advance_of(next) > 255) break;
    before = advance;
    advance += advance_of(next);
    bits += bits_of(next);
  }
  return bits | before << 8 | advance << 16;
}

/// The number of `size` bits that stands `offset` bits behind the begin of a look.
std::uint16_t value_in(std::uint32_t look, int look_bits, std::uint32_t offset, std::uint32_t size) {
  if (size == 0) return 0;
  const auto raw = look >> (static_cast<std::uint32_t>(look_bits) - offset - size) & ((1u << size) - 1);
  return static_cast<std::uint16_t>(raw >> (size - 1) != 0 ? raw : raw - (1u << size) + 1);
}

template <int kBits>
std::uint64_t pair_of(const Lookup<kBits>& lookup, std::uint32_t look) {
  std::uint32_t last = lookup[look], bits = 0, before = 0;
  std::uint16_t value = 0;
  if (last == 0) return 0;
  const std::uint32_t next = advance_of(last) < kEndOfBlock ? lookup.behind(look, bits_of(last)) : 0;
  if (next != 0) {
    value = value_in(look, kBits, code_bits_of(last), value_bits_of(last));
    before = advance_of(last);
    bits = bits_of(last);
    last = next;
  }
  bits += bits_of(last);
  const std::uint64_t advance = before + advance_of(last), end = 64 - bits;
  return bits | advance << 8 | (before == 0 ? advance : before) << 16 | std::uint64_t{before} << 24 | end << 32 |
         std::uint64_t{value_bits_of(last)} << 40 | std::uint64_t{value} << 48;
}

const HuffmanKernels& kernels(Level level) noexcept {
  return level == Level::kPortable ? kHuffmanPortable : kHuffmanAvx2;
}

}  // namespace

bool make_table(HuffmanTable& table, CodeClass kind, std::span<const std::uint8_t> counts_and_symbols) noexcept {
  if (counts_and_symbols.size() < 16) return false;
  const auto counts = counts_and_symbols.first(16), symbols = counts_and_symbols.subspan(16);
  Lookup<HuffmanTable::kSingleBits> singles;
  Lookup<HuffmanTable::kPairBits> pairs;
  Lookup<HuffmanTable::kSeveralBits> severals;
  std::uint32_t code = 0;
  std::size_t used = 0;
  for (std::uint32_t length = 1; length <= 16; ++length) {
    table.offset[length] = static_cast<std::int32_t>(used) - static_cast<std::int32_t>(code);
    for (std::uint32_t i = 0; i < counts[length - 1]; ++i, ++code, ++used) {
      // All ones is no code.
      if (used == symbols.size() || used == table.symbol.size() || code + 1 >= (1u << length)) return false;
      const std::uint32_t entry = entry_of(kind, length, symbols[used]);
      if (entry == 0) return false;
      table.symbol[used] = entry;
      singles.add(code, length, entry);
      pairs.add(code, length, entry);
      severals.add(code, length, entry);
    }
    table.limit[length] = code << (16 - length);
    code <<= 1;
  }
  table.limit[17] = 1u << 16;  // ends the search
  for (std::uint32_t look = 0; look < singles.kSize; ++look) table.single[look] = singles[look];
  if (kind == CodeClass::kDc) return true;
  for (std::uint32_t look = 0; look < pairs.kSize; ++look) table.pair[look] = pair_of(pairs, look);
  for (std::uint32_t look = 0; look < severals.kSize; ++look) table.several[look] = several_of(severals, look);
  return true;
}

std::uint32_t find_long(const HuffmanTable& table, std::uint64_t bits) noexcept {
  const auto head = static_cast<std::uint32_t>(bits >> 48);
  std::size_t length = HuffmanTable::kSingleBits + 1;
  while (head >= table.limit[length]) ++length;
  if (length > 16) return 0;
  const auto code = static_cast<std::ptrdiff_t>(head >> (16 - length));
  return table.symbol[static_cast<std::size_t>(code + table.offset[length])];
}

bool decode_mcus(const Scan& scan, Cursor& cursor, std::size_t count, const BlockTargets& targets,
                 Level level) noexcept {
  return kernels(level).decode(scan, cursor, count, targets);
}

bool skip_mcus(const Scan& scan, Cursor& cursor, std::size_t count, Level level) noexcept {
  return kernels(level).skip(scan, cursor, count);
}

bool decode_two(const Scan& scan, std::array<Cursor*, 2> cursors, std::size_t count,
                const std::array<BlockTargets, 2>& targets, Level level) noexcept {
  return kernels(level).decode_two(scan, cursors, count, targets);
}

}  // namespace drapps::kernel::jpeg
