// States of the Mersenne Twister MT19937, the generator behind Python's, NumPy's and torch's global numbers.
//
// A state is 624 words. The usual seeding makes each word from the one before, a chain of a microsecond; where a
// state is wanted for every sample, words that do not depend on one another are filled eight times as fast:
// SplitMix64 (G. Steele et al., "Fast splittable pseudorandom number generators", OOPSLA 2014) from one 64-bit key.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace drapps {

inline constexpr std::size_t kMersenneWords = 624;

/// The state that belongs to `key`. The format is fixed: equal keys give equal numbers in every release.
constexpr std::array<std::uint32_t, kMersenneWords> mersenne_state(std::uint64_t key) noexcept {
  std::array<std::uint32_t, kMersenneWords> words{};
  for (std::size_t i = 0; i < kMersenneWords / 2; ++i) {
    std::uint64_t mixed = key + (i + 1) * 0x9E3779B97F4A7C15ull;
    mixed = (mixed ^ mixed >> 30) * 0xBF58476D1CE4E5B9ull;
    mixed = (mixed ^ mixed >> 27) * 0x94D049BB133111EBull;
    mixed ^= mixed >> 31;
    words[2 * i] = static_cast<std::uint32_t>(mixed);
    words[2 * i + 1] = static_cast<std::uint32_t>(mixed >> 32);
  }
  return words;
}

}  // namespace drapps
