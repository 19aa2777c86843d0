// Where a pretoken may be cut although it is merged as a whole.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "drapps/text/bpe/pair_table.h"
#include "drapps/text/unicode/utf8.h"

namespace drapps::text {

/// A token's bytes and id.
struct TokenBytes {
  std::string_view bytes;
  TokenId id;
};

/// A character of valid UTF-8, or some bytes of one.
struct CharBytes {
  std::uint32_t bytes;  // the first one in the lowest bits
  std::uint32_t size;   // 1 to 4

  /// Of the text up to `end`, the character that begins at `p`.
  static CharBytes at(const std::uint8_t* p, const std::uint8_t* end) noexcept {
    CharBytes all{0, utf8_size(*p)};
    if (end - p >= 4) [[likely]] {
      std::memcpy(&all.bytes, p, 4);
      return all.first(all.size);
    }
    for (std::uint32_t i = 0; i < all.size; ++i) all.bytes |= std::uint32_t{p[i]} << 8 * i;
    return all;
  }
  CharBytes first(std::uint32_t n) const noexcept { return {bytes & ~std::uint32_t{0} >> (32 - 8 * n), n}; }
  CharBytes last(std::uint32_t n) const noexcept { return {bytes >> 8 * (size - n), n}; }
  std::uint8_t last_byte() const noexcept { return static_cast<std::uint8_t>(bytes >> 8 * (size - 1)); }
};

/// Knows of any two characters side by side whether some token could reach over the boundary between them. Where none
/// can, no merge ever does, whatever the ranks: both sides are merged by themselves. A token that begins or ends within
/// a character counts with those of its bytes that it has. Between ASCII characters the answer is always yes.
class Boundaries {
 public:
  explicit Boundaries(const std::vector<TokenBytes>& tokens = {});

  /// False only where no token reaches over.
  bool crossed(CharBytes left, CharBytes right) const noexcept {
    if ((left.bytes | right.bytes) < 0x80) return true;
    return crossed_whole(left, right) || (may_be_crossed_partly(left, right) && crossed_partly(left, right));
  }

  /// crossed() in its parts, for those that ask about many boundaries; not for two ASCII characters.
  bool crossed_whole(CharBytes left, CharBytes right) const noexcept {
    const std::uint64_t bit = bit_of(left, right);
    return seen_[bit >> 6] >> (bit & 63) & 1;
  }
  bool may_be_crossed_partly(CharBytes left, CharBytes right) const noexcept {
    return partial_[pair(left, right)] != 0;
  }
  bool crossed_partly(CharBytes left, CharBytes right) const noexcept;

 private:
  static std::size_t pair(CharBytes left, CharBytes right) noexcept {
    return std::size_t{right.bytes & 0xFF} << 8 | left.last_byte();
  }
  std::uint64_t bit_of(CharBytes left, CharBytes right) const noexcept {
    const std::uint64_t key = std::uint64_t{left.bytes} << 32 | right.bytes;
    return (key ^ key >> 31) * 0x9E3779B97F4A7C15U >> shift_;
  }

  std::vector<std::uint64_t> seen_;     // a bit for each pair of sides: another pair may set it too
  std::vector<std::uint16_t> partial_;  // by first and last byte: what is there of sides that are not both whole
  int shift_;
};

}  // namespace drapps::text
