// Which two neighbouring tokens merge, into what, and how early.
#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace drapps::text {

using TokenId = std::int32_t;

/// The merge of two tokens; lower ranks merge first.
struct Merge {
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  std::uint32_t rank = kNone;
  TokenId id = -1;
};

/// A flat hash table from (left, right) to their merge, half empty, probed in line.
class PairTable {
 public:
  explicit PairTable(std::size_t pairs = 0)
      : slots_(std::bit_ceil(2 * pairs + 2)), shift_(64 - std::countr_zero(slots_.size())) {}

  /// Requires ids >= 0, and no more pairs than the table was made for. A pair's last merge counts.
  void insert(TokenId left, TokenId right, Merge merge) noexcept {
    Slot& slot = slots_[find_slot(key(left, right))];
    slot = {key(left, right), merge};
  }

  /// kNone's rank where the two do not merge.
  Merge find(TokenId left, TokenId right) const noexcept { return slots_[find_slot(key(left, right))].merge; }

 private:
  struct Slot {
    std::uint64_t key = kEmpty;
    Merge merge{};
  };
  static constexpr std::uint64_t kEmpty = ~std::uint64_t{0};

  static std::uint64_t key(TokenId left, TokenId right) noexcept {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t find_slot(std::uint64_t key) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::uint64_t mixed = (key ^ key >> 29) * 0x9E3779B97F4A7C15U;
    std::size_t at = mixed >> shift_;
    while (slots_[at].key != key && slots_[at].key != kEmpty) at = (at + 1) & mask;
    return at;
  }

  std::vector<Slot> slots_;
  int shift_;
};

}  // namespace drapps::text
