// A shuffled order of {0, …, N-1} in constant memory, with any position computed directly.
//
// Swap-or-not (V. T. Hoang, B. Morris, P. Rogaway, "An enciphering scheme based on a card shuffle", CRYPTO 2012):
//   1. A round has a key K in {0, …, N-1} and a function that gives every number one bit.
//   2. It pairs x with x' = (K - x) mod N and exchanges the two where the bit of max(x, x') is one. That is a
//      bijection for every N, and its own inverse.
//   3. Rounds with independent keys are composed. Their inverse is the same rounds, last first.
// The bit is the top bit of (multiplier * max + addend) mod 2^64, which for random 64-bit multiplier and addend is
// pairwise independent over numbers below 2^kMaxBits (M. Dietzfelbinger, STACS 1996). So the joint distribution of any
// two images is the one that random functions would give, whose distance from uniform the paper bounds by
// 8 N^1.5 / (r + 4) * (1/2 + 1/N)^(r/2 + 1): below 2^-25 for the 4 log2(N) + 24 rounds used here. That more than pairs
// are well mixed is tested, not proved.
//
// The round keys are words of the documented stream at (seed, epoch, position = round), ordinal kOrdinalOrder: two
// words (high, low) each for K, the multiplier and the addend. Orders never change between versions.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "drapps/base/philox.h"

namespace drapps {

/// Reserved ordinal under which an epoch's order draws its keys.
inline constexpr std::uint16_t kOrdinalOrder = 0xFFFE;

/// Uniform in {0, …, bound - 1}; bound >= 1. Takes two words, high first, as Draws::below does; bias below bound /
/// 2^64.
inline std::uint64_t draw_below(Draws& draws, std::uint64_t bound) noexcept {
  __extension__ using Wide = unsigned __int128;
  const std::uint64_t high = draws.u32();
  const std::uint64_t word = high << 32 | draws.u32();
  return static_cast<std::uint64_t>((static_cast<Wide>(word) * bound) >> 64);
}

/// Immutable; may be read from any thread. About 5 KiB.
class Permutation {
 public:
  static constexpr int kMaxBits = 48;
  static constexpr std::uint64_t kMaxSize = std::uint64_t{1} << kMaxBits;

  /// @param size  N <= kMaxSize, 0 included.
  Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch) noexcept;

  std::uint64_t size() const noexcept { return size_; }

  /// The number at `position` < size().
  std::uint64_t at(std::uint64_t position) const noexcept;
  /// Replaces positions by the numbers at them: many at once cost a quarter each.
  void at(std::span<std::uint64_t> positions) const noexcept;
  /// The numbers at `first`, `first` + 1, ….
  void at(std::uint64_t first, std::span<std::uint64_t> out) const noexcept;

 private:
  struct Round {
    std::uint64_t key;
    std::uint64_t multiplier;
    std::uint64_t addend;
  };
  std::uint64_t exchange(std::uint64_t x, const Round& round) const noexcept;

  std::uint64_t size_;
  int rounds_;
  std::array<Round, 4 * kMaxBits + 24> round_;
};

}  // namespace drapps
