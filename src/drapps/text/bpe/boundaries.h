// Where a pretoken may be cut although it is merged as a whole.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <string_view>
#include <vector>

#include "drapps/text/bpe/pair_table.h"

namespace drapps::text {

/// A token's bytes and id.
struct TokenBytes {
  std::string_view bytes;
  TokenId id;
};

/// Knows of any two characters side by side whether some token could reach over the boundary between them. Where none
/// can, no merge ever does, whatever the ranks: both sides are merged by themselves. A token that begins or ends within
/// a character counts with those of its bytes that it has. Between ASCII characters the answer is always yes.
class Boundaries {
 public:
  explicit Boundaries(const std::vector<TokenBytes>& tokens = {});

  /// False only where no token reaches over. Requires two characters of valid UTF-8.
  bool crossed(std::string_view left, std::string_view right) const noexcept {
    if (left.size() == 1 && right.size() == 1) return true;
    if (has(left, right)) return true;
    return partial_[pair(left.back(), right.front())] && crossed_partly(left, right);
  }

 private:
  static std::size_t pair(char left, char right) noexcept {
    return static_cast<std::size_t>(static_cast<std::uint8_t>(left)) << 8 | static_cast<std::uint8_t>(right);
  }
  static std::uint64_t key_of(std::string_view left, std::string_view right) noexcept {
    std::uint64_t key = left.size() << 3 | right.size();
    for (const char byte : left) key = key << 7 ^ static_cast<std::uint8_t>(byte);
    for (const char byte : right) key = key << 7 ^ static_cast<std::uint8_t>(byte);
    return (key ^ key >> 31) * 0x9E3779B97F4A7C15U;
  }
  bool has(std::string_view left, std::string_view right) const noexcept {
    const std::uint64_t bit = key_of(left, right) >> shift_;
    return seen_[bit >> 6] >> (bit & 63) & 1;
  }
  bool crossed_partly(std::string_view left, std::string_view right) const noexcept;

  std::vector<std::uint64_t> seen_;  // a bit for each pair of sides: another pair may set it too
  std::vector<bool> partial_;        // by last and first byte: whether one of the sides is not a whole character
  int shift_;
};

}  // namespace drapps::text
