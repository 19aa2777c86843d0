// States of the Mersenne Twister MT19937, the generator behind Python's, NumPy's and torch's global numbers.
//
// A state is 624 words. The usual seeding makes each word from the one before, a chain of a microsecond; where a
// state is wanted for every sample, words that do not depend on one another are filled eight times as fast:
// SplitMix64 (G. Steele et al., "Fast splittable pseudorandom number generators", OOPSLA 2014) from one 64-bit key.
// What follows from a state is the generator's own (M. Matsumoto and T. Nishimura, "Mersenne Twister", TOMACS 1998).
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

/// Replaces the words of a state by those that follow them. Words may be held in more than 32 bits.
template <class Word>
constexpr void mersenne_twist(std::array<Word, kMersenneWords>& words) noexcept {
  constexpr std::size_t kApart = 397;
  for (std::size_t i = 0; i < kMersenneWords; ++i) {
    const auto high = static_cast<std::uint32_t>(words[i]);
    const auto low = static_cast<std::uint32_t>(words[(i + 1) % kMersenneWords]);
    const std::uint32_t mixed = ((high & 0x80000000u) | (low & 0x7FFFFFFFu)) >> 1;
    const auto far = static_cast<std::uint32_t>(words[(i + kApart) % kMersenneWords]);
    words[i] = far ^ mixed ^ ((low & 1u) != 0 ? 0x9908B0DFu : 0u);
  }
}

/// The number that a word gives.
constexpr std::uint32_t mersenne_tempered(std::uint32_t word) noexcept {
  word ^= word >> 11;
  word ^= word << 7 & 0x9D2C5680u;
  word ^= word << 15 & 0xEFC60000u;
  return word ^ word >> 18;
}

}  // namespace drapps
