#include "drapps/source/permutation.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>

namespace drapps {

Permutation::Permutation(std::uint64_t size, std::uint64_t seed, std::uint32_t epoch) noexcept
    : size_(size), rounds_(size < 2 ? 0 : 4 * static_cast<int>(std::bit_width(size - 1)) + 24) {
  assert(size <= kMaxSize);
  for (int i = 0; i < rounds_; ++i) {
    Draws draws({.seed = seed, .epoch = epoch, .position = static_cast<std::uint64_t>(i)}, kOrdinalOrder);
    const auto word = [&draws] {
      const std::uint64_t high = draws.u32();
      return high << 32 | draws.u32();
    };
    Round& round = round_[static_cast<std::size_t>(i)];
    round.key = draw_below(draws, size);
    round.multiplier = word();
    round.addend = word();
  }
}

std::uint64_t Permutation::exchange(std::uint64_t x, const Round& round) const noexcept {
  // The coin is as likely as not, so a branch on it would be mispredicted every other round: all of this is arithmetic.
  const std::uint64_t difference = round.key - x;
  const std::uint64_t partner = difference + (size_ & -(difference >> 63));
  const std::uint64_t larger = x > partner ? x : partner;
  const std::uint64_t coin = -((round.multiplier * larger + round.addend) >> 63);
  return x ^ ((x ^ partner) & coin);
}

std::uint64_t Permutation::at(std::uint64_t position) const noexcept {
  assert(position < size_);
  std::uint64_t x = position;
  for (int i = 0; i < rounds_; ++i) x = exchange(x, round_[static_cast<std::size_t>(i)]);
  return x;
}

void Permutation::at(std::span<std::uint64_t> positions) const noexcept {
  // A round waits for the one before it; blocks of numbers that know nothing of each other fill the wait. From a few
  // numbers on a block that is not full costs less than one after the other.
  constexpr std::size_t kBlock = 16;
  constexpr std::size_t kFew = 4;
  for (; positions.size() > kFew; positions = positions.subspan(std::min(kBlock, positions.size()))) {
    const std::span<std::uint64_t> some = positions.first(std::min(kBlock, positions.size()));
    std::array<std::uint64_t, kBlock> x{};
    std::ranges::copy(some, x.begin());
    for (int i = 0; i < rounds_; ++i) {
      const Round& round = round_[static_cast<std::size_t>(i)];
      for (std::uint64_t& each : x) each = exchange(each, round);
    }
    std::copy_n(x.begin(), some.size(), some.begin());
  }
  for (std::uint64_t& each : positions) each = at(each);
}

void Permutation::at(std::uint64_t first, std::span<std::uint64_t> out) const noexcept {
  assert(first + out.size() <= size_);
  std::iota(out.begin(), out.end(), first);
  at(out);
}

}  // namespace drapps
